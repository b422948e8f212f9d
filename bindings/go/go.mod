module github.com/chatparse/chatparse/bindings/go

go 1.19
