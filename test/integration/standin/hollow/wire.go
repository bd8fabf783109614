package hollow

import (
	"encoding/binary"
	"errors"
	"io"
)

const frameMax = 1 << 20

var errWire = errors.New("not a message of protobuf")

// message builds a protobuf message field by field. As in proto3, what is zero is left out.
type message []byte

func (m *message) number(field int, value uint64) {
	if value != 0 {
		*m = binary.AppendUvarint(*m, uint64(field)<<3)
		*m = binary.AppendUvarint(*m, value)
	}
}

func (m *message) flag(field int, value bool) {
	if value {
		m.number(field, 1)
	}
}

func (m *message) text(field int, value string) {
	if value != "" {
		m.nested(field, message(value))
	}
}

func (m *message) nested(field int, value message) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|2)
	*m = binary.AppendUvarint(*m, uint64(len(value)))
	*m = append(*m, value...)
}

// question is what the requests that we know can say: of each kind of field, the last of each number.
type question struct {
	numbers map[int]uint64
	texts   map[int]string
}

func parse(bytes []byte) (question, error) {
	q := question{numbers: map[int]uint64{}, texts: map[int]string{}}
	next := func() (uint64, error) {
		value, size := binary.Uvarint(bytes)
		if size <= 0 {
			return 0, errWire
		}
		bytes = bytes[size:]
		return value, nil
	}
	for len(bytes) > 0 {
		tag, err := next()
		if err != nil {
			return q, err
		}
		value, err := next()
		if err != nil {
			return q, err
		}
		switch field := int(tag >> 3); tag & 7 {
		case 0:
			q.numbers[field] = value
		case 2:
			if value > uint64(len(bytes)) {
				return q, errWire
			}
			q.texts[field] = string(bytes[:value])
			bytes = bytes[value:]
		default:
			return q, errWire
		}
	}
	return q, nil
}

// readFrame reads the one message of a unary gRPC call.
func readFrame(from io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if head[0] != 0 || size > frameMax {
		return nil, errWire
	}
	bytes := make([]byte, size)
	_, err := io.ReadFull(from, bytes)
	return bytes, err
}

func frame(m message) []byte {
	out := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m)))
	return append(out, m...)
}
