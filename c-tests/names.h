// Lists of names: a name to the first tab of each line.
#ifndef NAMES_H
#define NAMES_H

#include "text.h"

// Appends the names that a file lists; a line without a tab is a remark. False, with a message, where the file cannot be read.
bool names_read(buffer *names, const char *path);

// Whether the list has the name.
bool names_have(const buffer *names, chat_str name);

#endif
