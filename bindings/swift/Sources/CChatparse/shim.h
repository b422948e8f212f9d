#include <chatparse.h>
