package check

import "encoding/binary"

// maxJSONDepth is how deep values may be nested, as in encoding/json.
const maxJSONDepth = 10_000

// ValidJSON reports what json.Valid reports. Every payload passes it, and most
// of a payload is text: this one is several times as fast, because within a
// string it only looks for the end, and it has no depth to recurse into.
func ValidJSON(data []byte) bool {
	j := scanner{data: data}
	var open []byte // what closes each open object and array
	for {
		// A value begins.
		j.space()
		switch c := j.next(); c {
		case '{', '[':
			if len(open) == maxJSONDepth {
				return false
			}
			end := c + 2 // in ASCII
			if j.space(); j.peek() == end {
				j.pos++
				break
			}
			if open = append(open, end); c == '{' && !j.member() {
				return false
			}
			continue
		default:
			if !j.scalar(c) {
				return false
			}
		}
		// A value has ended, and with it perhaps what it is in.
		for {
			j.space()
			if len(open) == 0 {
				return j.pos == len(data)
			}
			c := j.next()
			last := open[len(open)-1]
			if c == last {
				open = open[:len(open)-1]
				continue
			}
			if c != ',' || last == '}' && !j.member() {
				return false
			}
			break
		}
	}
}

// scanner reads JSON; after the end it reads zeros, which are nowhere valid.
type scanner struct {
	data []byte
	pos  int
}

func (j *scanner) peek() byte {
	if j.pos < len(j.data) {
		return j.data[j.pos]
	}
	return 0
}

func (j *scanner) next() byte {
	c := j.peek()
	j.pos++
	return c
}

func (j *scanner) space() {
	for j.pos < len(j.data) {
		switch j.data[j.pos] {
		case ' ', '\t', '\r', '\n':
			j.pos++
		default:
			return
		}
	}
}

// scalar reads the rest of a value that is no object and no array.
func (j *scanner) scalar(c byte) bool {
	switch c {
	case '"':
		return j.text()
	case 't':
		return j.literal("true")
	case 'f':
		return j.literal("false")
	case 'n':
		return j.literal("null")
	}
	return j.number(c)
}

// member reads the name of a member and the colon after it.
func (j *scanner) member() bool {
	j.space()
	if j.next() != '"' || !j.text() {
		return false
	}
	j.space()
	return j.next() == ':'
}

// text reads a string after its first quote.
func (j *scanner) text() bool {
	for {
		j.plain()
		switch c := j.next(); {
		case c == '"':
			return true
		case c < ' ': // the end, too
			return false
		case c == '\\' && !j.escape():
			return false
		}
	}
}

// plain skips bytes that mean nothing in a string, eight at a time: a byte of
// the mask is not zero if that byte of the text is a quote, a backslash or
// below space, or follows one that is.
func (j *scanner) plain() {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for j.pos+8 <= len(j.data) {
		x := binary.LittleEndian.Uint64(j.data[j.pos:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		if ((x-' '*ones)&^x|(quote-ones)&^quote|(slash-ones)&^slash)&tops != 0 {
			break
		}
		j.pos += 8
	}
	for j.pos < len(j.data) {
		if c := j.data[j.pos]; c < ' ' || c == '"' || c == '\\' {
			return
		}
		j.pos++
	}
}

// escape reads what follows a backslash.
func (j *scanner) escape() bool {
	switch j.next() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			c := j.next()
			if !digit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
		return true
	}
	return false
}

// literal reads the rest of a word.
func (j *scanner) literal(word string) bool {
	begin, end := j.pos-1, j.pos-1+len(word)
	if end > len(j.data) || string(j.data[begin:end]) != word {
		return false
	}
	j.pos = end
	return true
}

// number reads a number after its first byte.
func (j *scanner) number(c byte) bool {
	if c == '-' {
		c = j.next()
	}
	if !digit(c) {
		return false
	}
	if c != '0' {
		j.digits()
	}
	if j.peek() == '.' {
		j.pos++
		if !j.digits() {
			return false
		}
	}
	if j.peek()|0x20 == 'e' {
		j.pos++
		if c := j.peek(); c == '+' || c == '-' {
			j.pos++
		}
		return j.digits()
	}
	return true
}

func (j *scanner) digits() bool {
	begin := j.pos
	for digit(j.peek()) {
		j.pos++
	}
	return j.pos > begin
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
