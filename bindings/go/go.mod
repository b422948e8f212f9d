module chatparse

go 1.19
