package telemetry

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/sync/trace"
)

// Kinds of spans, as OTLP numbers them.
const (
	kindInternal = 1
	kindServer   = 2
)

// An Attribute is a name and a text, or a number. Text and Number make one; the zero Attribute is
// the number 0 without a name.
type Attribute struct {
	Key    string
	Text   string
	Number int64
	isText bool
}

// maxText is the length of a text, in bytes: what waits must be small. The rest is left out.
const maxText = 512

// Text is an attribute that is a text. It is copied, since it may be a part of a long one.
func Text(key, value string) Attribute {
	return Attribute{Key: key, Text: strings.ToValidUTF8(strings.Clone(value[:min(len(value), maxText)]), ""), isText: true}
}

// Number is an attribute that is a number.
func Number(key string, value int64) Attribute { return Attribute{Key: key, Number: value} }

// A Span is one request or operation. Request makes one with its ids; the caller fills in the
// exported fields and passes it to Add, after which it must not change Attributes. A span in the
// queue takes its attributes' texts of at most maxText bytes each, so MaxQueue bounds the memory.
type Span struct {
	trace      [16]byte
	id         [8]byte
	parent     [8]byte // zero: it is the first of its trace
	kind       int     // kindInternal or kindServer
	Name       string
	Begin, End time.Time
	Failed     bool // because of the server: a client's mistake or a denial is no failure
	Attributes []Attribute
}

// Request begins the span of a request. ok is false if it is not sampled. parent is its
// traceparent header, "" for none: if that is valid, the span belongs to its trace, and is not
// sampled if the trace is not.
//
// A caller that says that its trace is sampled does not decide that: the id of the trace does,
// by the part of them that is to be sent. Otherwise each client could have all its requests
// sent.
func (e *Exporter) Request(parent string) (s Span, ok bool) {
	if e == nil {
		return Span{}, false
	}
	s.kind = kindServer
	var sampled bool
	if s.trace, s.parent, sampled, ok = parseParent(parent); !ok {
		rand.Read(s.trace[:])
		s.parent, sampled = [8]byte{}, true
	}
	if !sampled || !e.takes(s.trace) {
		return Span{}, false
	}
	rand.Read(s.id[:])
	return s, true
}

// takes decides about a trace as the samplers of OpenTelemetry do: by the last bytes of its id.
// So all services with the same part keep or drop the same traces.
func (e *Exporter) takes(trace [16]byte) bool {
	return binary.BigEndian.Uint64(trace[8:])>>1 < e.threshold
}

// parseParent reads a traceparent header of the W3C. ok is false if it is not valid.
//
//	00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//
// These are the version, the id of the trace, that of the caller's span, and flags, the last bit
// of them for sampled. Later versions may have more behind that, which is ignored.
func parseParent(text string) (trace [16]byte, span [8]byte, sampled, ok bool) {
	const length = 2 + 1 + 32 + 1 + 16 + 1 + 2
	if len(text) < length || text[2] != '-' || text[35] != '-' || text[52] != '-' || text != strings.ToLower(text) {
		return trace, span, false, false
	}
	version := text[:2]
	if version == "ff" || version == "00" && len(text) > length || len(text) > length && text[length] != '-' {
		return trace, span, false, false
	}
	var flags, v [1]byte
	for _, part := range []struct {
		to   []byte
		text string
	}{{v[:], version}, {trace[:], text[3:35]}, {span[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.to, []byte(part.text)); err != nil {
			return trace, span, false, false
		}
	}
	return trace, span, flags[0]&1 != 0, trace != [16]byte{} && span != [8]byte{}
}

// Operations returns what is told of the operations of a database. Those of REST have the spans
// of their requests, and broadcasts are no work for one client.
//
// It is a function for trace.Watchers, which call it on the goroutine of the operation: so it
// does not wait, and does little for operations that are not sampled. Each operation is a trace of
// its own. Failed is not set here: trace.Operation does not say whether the server or the client
// was the cause, so the attribute dogwood.status has it.
func (e *Exporter) Operations(namespace string) func(trace.Operation) {
	return func(op trace.Operation) {
		switch op.Name {
		case trace.OpRESTRead, trace.OpRESTWrite, trace.OpRESTUpdate, trace.OpBroadcast:
			return
		}
		s := Span{kind: kindInternal, Name: op.Name, End: op.At}
		rand.Read(s.trace[:])
		if !e.takes(s.trace) {
			return
		}
		rand.Read(s.id[:])
		took := op.Took // without the wait; Began is before it, and better where it is known
		if !op.Began.IsZero() {
			took = time.Since(op.Began)
		}
		s.Begin = s.End.Add(-took)
		status := "ok"
		switch {
		case op.Denied:
			status = "denied"
		case op.Failed:
			status = "failed"
		}
		s.Attributes = []Attribute{
			Text("db.system.name", "dogwood"),
			Text("db.namespace", namespace),
			Text("db.operation.name", op.Name),
			Text("dogwood.status", status),
			Number("dogwood.bytes", int64(op.Bytes)),
		}
		if op.Waited > 0 {
			s.Attributes = append(s.Attributes, Number("dogwood.waited_us", op.Waited.Microseconds()))
		}
		if e.o.Paths {
			s.Attributes = append(s.Attributes, Text("dogwood.path", op.Path.String()))
		}
		e.Add(s)
	}
}

// The types below are a request of OTLP in JSON: ExportTraceServiceRequest, as far as a server
// fills it. Ids are in hexadecimal and times are texts of nanoseconds, as OTLP/JSON wants them.
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope      `json:"scope"`
		Spans []sentSpan `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
	sentSpan struct {
		TraceID    string         `json:"traceId"`
		SpanID     string         `json:"spanId"`
		ParentID   string         `json:"parentSpanId,omitempty"`
		Name       string         `json:"name"`
		Kind       int            `json:"kind"`
		Begin      string         `json:"startTimeUnixNano"`
		End        string         `json:"endTimeUnixNano"`
		Attributes []keyValue     `json:"attributes"`
		Status     map[string]int `json:"status"`
	}
)

// statusFailed is the code of a span that failed because of the server.
const statusFailed = 2

// keyValueOf returns an attribute as OTLP has it: numbers of 64 bits are texts in JSON.
func keyValueOf(a Attribute) keyValue {
	if a.isText {
		return keyValue{a.Key, map[string]any{"stringValue": a.Text}}
	}
	return keyValue{a.Key, map[string]any{"intValue": strconv.FormatInt(a.Number, 10)}}
}

// appendRequest appends the body of a request with spans. All spans of a server are of one
// resource and one scope, so a batch has each once.
func appendRequest(b []byte, version string, spans []Span) []byte {
	list := make([]sentSpan, 0, len(spans))
	for i := range spans {
		s := &spans[i]
		out := sentSpan{
			TraceID: hex.EncodeToString(s.trace[:]),
			SpanID:  hex.EncodeToString(s.id[:]),
			Name:    s.Name,
			Kind:    s.kind,
			Begin:   strconv.FormatInt(s.Begin.UnixNano(), 10),
			End:     strconv.FormatInt(s.End.UnixNano(), 10),
			Status:  map[string]int{},
		}
		if s.parent != [8]byte{} {
			out.ParentID = hex.EncodeToString(s.parent[:])
		}
		if s.Failed {
			out.Status["code"] = statusFailed
		}
		for _, a := range s.Attributes {
			out.Attributes = append(out.Attributes, keyValueOf(a))
		}
		list = append(list, out)
	}
	r := exportRequest{[]resourceSpans{{
		Resource: resource{[]keyValue{
			keyValueOf(Text("service.name", "dogwood")),
			keyValueOf(Text("service.version", version)),
		}},
		ScopeSpans: []scopeSpans{{Scope: scope{"github.com/dogwooddb/dogwood", version}, Spans: list}},
	}}}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // of texts and numbers: cannot fail
	}
	return append(b, text...)
}

// rejectedIn returns how many spans an answer says that the collector has not taken. A number of
// 64 bits is a text in OTLP/JSON, but some collectors write a number. An answer that cannot be
// read, such as an empty one, means that all were taken: its status said so.
func rejectedIn(text []byte) uint64 {
	var reply struct {
		PartialSuccess struct {
			RejectedSpans json.RawMessage `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(text, &reply) != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.Trim(string(reply.PartialSuccess.RejectedSpans), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
