package tree

import (
	"fmt"
	"strings"
	"testing"
)

// message is a typical small write, a little above 200 bytes.
const message = `{"author":"u000000000001","text":"hello there, how are you doing today?",` +
	`"ts":1700000000000,"room":"r1","likes":{"u2":true,"u3":true,"u4":true},` +
	`"edited":false,"kind":"text","seq":42,"x":1.5,"reply":"-NjEtLV--012345678yz"}`

// wide returns an object of n messages under push-id-like keys.
func wide(n int) Node {
	var b Builder
	for i := range n {
		text := fmt.Sprintf(`{"author":"u%d","seq":%d,"text":"message number %d with some text"}`, i%7, (i*7919)%n, i)
		b.Child(fmt.Sprintf("-N%06d", i), MustParseNode(text))
	}
	return b.Node()
}

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(message, 0, Lenient)
	}
}

func BenchmarkParseWide(b *testing.B) {
	text := wide(1000).JSON()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(text, 0, Lenient)
	}
}

// BenchmarkParseRows parses objects of ten leaves whose keys are in no order.
func BenchmarkParseRows(b *testing.B) {
	var rows []string
	for i := range 10_000 {
		rows = append(rows, fmt.Sprintf(`"r%06d":{"n":%d,"name":"row number %d","mail":"row%d@example.com",`+
			`"score":%d,"active":true,"kind":"text","city":"Springfield","note":"some words about it","at":1700000000000,"by":"u%d"}`,
			i, i*7919%10_000, i, i, i*31, i%7))
	}
	text := "{" + strings.Join(rows, ",") + "}"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(text, 0, Lenient)
	}
}

func BenchmarkParseUnordered(b *testing.B) {
	n := wide(1000)
	var children []string
	for key, child := range n.Children() {
		children = append([]string{`"` + key + `":` + child.JSON()}, children...)
	}
	text := "{" + strings.Join(children, ",") + "}"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(text, 0, Lenient)
	}
}

func BenchmarkChild(b *testing.B) {
	for _, size := range []int{1, 10, 100, 1000} {
		n, key := wide(size), fmt.Sprintf("-N%06d", size-1)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n.Child(key)
			}
		})
	}
}

func BenchmarkWith(b *testing.B) {
	for _, size := range []int{10, 1000} {
		n := wide(size)
		replace := MustParsePath(fmt.Sprintf("-N%06d/text", size-1))
		insert := MustParsePath("-P")
		b.Run(fmt.Sprintf("replace/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n.With(replace, String("x"))
			}
		})
		b.Run(fmt.Sprintf("insert/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n.With(insert, String("x"))
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	for _, size := range []int{1, 100} {
		n := wide(size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(n.text)))
			b.ReportAllocs()
			for b.Loop() {
				n.Hash()
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	n := wide(1000)
	for name, q := range map[string]Query{
		"key/last50":   {OrderBy: ByKey, Limit: 50, FromLast: true},
		"child/last50": {OrderBy: "seq", Limit: 50, FromLast: true},
		"child/range":  {OrderBy: "seq", Start: Bound{Set: true, Value: Number(100), KeyRank: BeforeKeys}, End: Bound{Set: true, Value: Number(900), KeyRank: AfterKeys}},
		"text/first50": {OrderBy: "text", Limit: 50},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q.Apply(n)
			}
		})
	}
}

func BenchmarkCompareKeys(b *testing.B) {
	pairs := [][2]string{{"-NjEtLV--012345678yz", "-NjEtLV--012345678z0"}, {"123", "45"}, {"author", "text"}}
	for b.Loop() {
		for _, p := range pairs {
			CompareKeys(p[0], p[1])
		}
	}
}
