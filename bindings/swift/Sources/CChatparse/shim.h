#include <chatparse.h>
#include <chatparse/unstable.h>
