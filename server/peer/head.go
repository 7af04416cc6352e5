package peer

import (
	"bytes"
	"strings"
)

// Bounds of the head of a request: its first line and its headers.
const (
	MaxHeadLines = 100     // with the first one
	FreeHead     = 8 << 10 // what a head may take without counting as more than its connection
)

// The most memory that a head takes: net/http keeps a line while it arrives and copies it
// then, and what is made of a header or of a parameter of the URL has a size of its own.
const (
	HeadByteCost  = 2
	HeadLineCost  = 256
	HeadParamCost = 128
)

// A head follows the bytes of one head, in order to know where it ends and what it takes. It
// finds the end where net/http does. The zero head is empty.
type head struct {
	size   int64 // bytes
	lines  int64 // that are complete
	params int64 // in the first line
	line   int   // bytes of the line that is not complete
	cr     bool  // it begins with a carriage return
	ended  bool
}

// take follows the next bytes, and returns how many of them are of the head.
func (h *head) take(p []byte) (n int) {
	for n < len(p) && !h.ended {
		line := p[n:]
		end := bytes.IndexByte(line, '\n') + 1
		if end > 0 {
			line = line[:end]
		}
		h.add(line)
		if end > 0 {
			h.endLine()
		}
		n += len(line)
	}
	return n
}

// add adds bytes of a line.
func (h *head) add(p []byte) {
	if h.line == 0 {
		h.cr = p[0] == '\r'
	}
	if h.lines == 0 {
		h.params += int64(bytes.Count(p, []byte("&")))
	}
	h.line += len(p)
	h.size += int64(len(p))
}

// endLine ends a line. An empty one ends the head, but before the first line there may be
// some, which old clients send after a body.
func (h *head) endLine() {
	empty := h.line == 1 || h.line == 2 && h.cr
	h.line = 0
	if !empty {
		h.lines++
	} else if h.lines > 0 {
		h.ended = true
	}
}

// cost returns what the head takes in memory beyond what counts as that of its connection.
func (h *head) cost() int64 {
	return beyondFree(h.size*HeadByteCost + h.lines*HeadLineCost + h.params*HeadParamCost)
}

// lineCost returns what the first line of a request takes, beyond the same.
func lineCost(uri string) int64 {
	return beyondFree(int64(len(uri))*HeadByteCost + int64(strings.Count(uri, "&"))*HeadParamCost)
}

func beyondFree(n int64) int64 {
	if n <= FreeHead {
		return 0
	}
	return n
}
