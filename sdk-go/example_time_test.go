package dogwood_test

import (
	"fmt"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func ExampleTimeKey() {
	sent := time.Date(2014, 3, 6, 2, 5, 13, 223556000, time.UTC)
	fmt.Println(dogwood.TimeKey(sent))
	// Output: 2014-03-06T02:05:13,223556Z
}

func ExampleParseTimeKey() {
	sent, err := dogwood.ParseTimeKey("2014-03-06T02:05:13,223556Z")
	check(err)
	fmt.Println(sent.Format(time.Kitchen))
	// Output: 2:05AM
}
