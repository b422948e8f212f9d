// bcryptprimitives.dll for Wine before 9, which has none: Rust's standard library asks it for random bytes.
#include <windows.h>

#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T len) { return RtlGenRandom(data, (ULONG)len); }
