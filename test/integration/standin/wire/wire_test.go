package wire

import (
	"bytes"
	"slices"
	"testing"
)

func TestAMessageSaysWhatWasPutIntoIt(t *testing.T) {
	var m, inner Message
	inner.Text(2, "x")
	m.Number(1, 1<<63)
	m.Number(3, 0)
	m.Flag(4, true)
	m.Nested(5, inner)
	m.Nested(5, nil)
	m.Text(6, "")
	read, err := ReadFrame(bytes.NewReader(Frame(m)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(read)
	if err != nil || f.Numbers[1] != 1<<63 || f.Numbers[4] != 1 || len(f.Numbers) != 2 ||
		len(f.Texts) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if !slices.Equal(f.Texts[5], []string{string(inner), ""}) || f.Text(5) != "" || f.Text(9) != "" {
		t.Errorf("nested: %q", f.Texts[5])
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	for _, broken := range [][]byte{{0x08}, {0x0a, 5, 'a'}, {0x0b}, {0xff}} {
		if _, err := Parse(broken); err == nil {
			t.Errorf("%x was taken", broken)
		}
	}
}
