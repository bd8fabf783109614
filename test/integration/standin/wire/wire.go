// Package wire is the minimal part of protobuf and gRPC for calls to etcd.
package wire

import (
	"encoding/binary"
	"errors"
	"io"
)

const frameMax = 1 << 20

// Err reports bytes that are not a valid message.
var Err = errors.New("not a message of protobuf")

// Message builds a protobuf message field by field. As in proto3, zero values are omitted.
type Message []byte

// Number adds a number.
func (m *Message) Number(field int, value uint64) {
	if value != 0 {
		*m = binary.AppendUvarint(*m, uint64(field)<<3)
		*m = binary.AppendUvarint(*m, value)
	}
}

// Flag adds a bool.
func (m *Message) Flag(field int, value bool) {
	if value {
		m.Number(field, 1)
	}
}

// Text adds a string, or bytes.
func (m *Message) Text(field int, value string) {
	if value != "" {
		m.Nested(field, Message(value))
	}
}

// Nested adds a message, even an empty one.
func (m *Message) Nested(field int, value Message) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(value)))
	*m = append(*m, value...)
}

// Fields is the content of a message: the last value of each numeric field, and all values of other fields, including messages.
type Fields struct {
	Numbers map[int]uint64
	Texts   map[int][]string
}

// Text returns the last value of a field.
func (f Fields) Text(field int) string {
	if all := f.Texts[field]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// Parse parses a message.
func Parse(bytes []byte) (Fields, error) {
	f := Fields{Numbers: map[int]uint64{}, Texts: map[int][]string{}}
	next := func() (uint64, error) {
		value, size := binary.Uvarint(bytes)
		if size <= 0 {
			return 0, Err
		}
		bytes = bytes[size:]
		return value, nil
	}
	for len(bytes) > 0 {
		tag, err := next()
		if err != nil {
			return f, err
		}
		value, err := next()
		if err != nil {
			return f, err
		}
		switch field := int(tag >> 3); tag & 7 {
		case 0:
			f.Numbers[field] = value
		case 2:
			if value > uint64(len(bytes)) {
				return f, Err
			}
			f.Texts[field] = append(f.Texts[field], string(bytes[:value]))
			bytes = bytes[value:]
		default:
			return f, Err
		}
	}
	return f, nil
}

// ReadFrame reads the single message of a unary gRPC call.
func ReadFrame(from io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if head[0] != 0 || size > frameMax {
		return nil, Err
	}
	bytes := make([]byte, size)
	_, err := io.ReadFull(from, bytes)
	return bytes, err
}

// Frame formats a message as gRPC sends it.
func Frame(m Message) []byte {
	out := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m)))
	return append(out, m...)
}
