package bus

import "github.com/busline/busline/bus/wire"

// arrivedRequest returns a request as the broker would have brought it: in parts, if it takes no message so large.
func arrivedRequest(sent *wire.Request, payload int) (*wire.Request, error) {
	read := new(wire.Request)
	if text := wire.AppendRequest(nil, sent); len(text) <= payload {
		return read, wire.ParseRequest(text, read)
	}
	cut, err := divideRequest(sent, payload)
	if err != nil {
		return nil, err
	}
	body, err := cut.join(func(number int) (wire.Fragment, []byte, error) {
		part := new(wire.Request)
		err := wire.ParseRequest(wire.AppendRequest(nil, cut.request(number, sent, "i1aaaaaaaa."+sent.Host)), part)
		if number == 1 {
			read = part // which has the whole head
		}
		return part.Fragment, part.Body, err
	})
	if err != nil {
		return nil, err
	}
	read.Body, read.Fragment = body, wire.Fragment{}
	return read, nil
}

// arrivedResponse does so with a response.
func arrivedResponse(sent *wire.Response, payload int) (*wire.Response, error) {
	read := new(wire.Response)
	if text := wire.AppendResponse(nil, sent); len(text) <= payload {
		return read, wire.ParseResponse(text, read)
	}
	cut, err := divideResponse(sent, payload)
	if err != nil {
		return nil, err
	}
	body, err := cut.join(func(number int) (wire.Fragment, []byte, error) {
		part := new(wire.Response)
		err := wire.ParseResponse(wire.AppendResponse(nil, cut.response(number, sent)), part)
		if number == 1 {
			read = part // which has the whole head
		}
		return part.Fragment, part.Body, err
	})
	if err != nil {
		return nil, err
	}
	read.Body, read.Fragment = body, wire.Fragment{}
	return read, nil
}

// join puts a body together of the parts that carry brings, by their numbers.
func (d division) join(carry func(number int) (wire.Fragment, []byte, error)) ([]byte, error) {
	fragment, body, err := carry(1)
	if err != nil {
		return nil, err
	}
	parts, err := newAssembly(fragment, body, maxMessageLimit)
	for number := 2; number <= d.count && err == nil; number++ {
		if fragment, body, err = carry(number); err == nil {
			err = parts.add(fragment, body)
		}
	}
	if err != nil {
		return nil, err
	}
	return parts.body(), nil
}
