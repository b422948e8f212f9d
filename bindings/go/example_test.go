package chatparse_test

import (
	"fmt"
	"log"

	chatparse "github.com/chatparse/chatparse/bindings/go"
)

func Example() {
	template, err := chatparse.Builtin("chatml") // Or NewTemplate, of the text of the model's template.
	if err != nil {
		log.Fatal(err)
	}
	params, err := template.Params(`{"messages": [{"role": "user", "content": "Hi"}]}`, "{}")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", params.Prompt()) // What the model is given.
	stream, err := params.Stream()
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	for _, piece := range []string{"Hello", ", yo", "u!"} { // As the model writes.
		deltas, err := stream.Feed([]byte(piece))
		if err != nil {
			log.Fatal(err)
		}
		for _, delta := range deltas {
			fmt.Println(delta.Kind == chatparse.Content, delta.Text)
		}
	}
	// Output:
	// "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
	// true Hello
	// true , yo
	// true u!
}
