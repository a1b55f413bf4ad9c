// Package subject maps the address of an endpoint to the subject that carries its calls, and back.
//
//	POST https://calculator.example/add           bus.443.example.calculator.|.POST.add
//	GET  https://k3x.files.example:444/a//b.txt   bus.444.example.files.k3x.|.GET.a.%.b%2Etxt
//
// The elements of a subject are joined by dots:
//
//	<plane>.<port>.<reversed host>.|.<method>.<path>   a call; an addressed instance is the host's first label
//	<plane>.*.<reversed host>.<id>.|.>                 a subscription: every call addressed to one instance
//	<plane>.r.<reversed host>.<id>                     the acks and responses to the calls of one instance
//
// The host is reversed so that the broker's permissions can confine a service to a domain.
//
// The path loses its leading slash and is split at the others; each segment is percent-decoded once and
// written as one token:
//
//	letters, digits, "-", "_", "~"   themselves
//	every other byte                 "%" and two upper-case hex digits: "é" is "%C3%A9"
//	an empty segment                 "%": "/" is "%", "/dir/" is "dir.%"
//
// So the mapping is total and injective. Two paths have the same subject only if their decoded segments are the same,
// and no path, host or method can put a wildcard, a blank, a control byte or an empty token into a published subject.
// (The broker accepts some of these and loses the message without an error.) Only subscriptions contain wildcards: "*"
// for one token, a last ">" for one or more.
//
// No path is cleaned: "/a/../b" and "/b" are two addresses.
package subject
