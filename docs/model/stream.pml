/* A body in parts whose number is not known: a response, or with REQUEST the request. README.md says what is modelled,
 * and how to run it. "Window", "Alive", "End" are rules of Streams in ../reference/wire.md, "Order" is one of Messages
 * in parts. The sender of the body is the instance, with REQUEST the caller. A part has one byte of the body or
 * none.
 */

/* The bounds. */
#ifndef TOTAL
#define TOTAL 4 /* bytes of the body */
#endif
#ifndef WINDOW
#define WINDOW 2 /* bytes that the receiver keeps at most */
#endif
#ifndef ASKS
#define ASKS 1 /* parts without a body in a time budget */
#endif
#ifndef FAULTS
#define FAULTS 1 /* crashes, and connections that break */
#endif

#include "check.h"

#define SENDER 0
#define RECEIVER 1

mtype = { Part, Last, Replacement, Cancel, Window, Result, Notice } /* messages */
mtype = { Up, Broken, Down, Dead }                                  /* connections; Broken: nobody has noticed it */
mtype = { Whole, Replaced, Gap, Beyond, Late, Closed, Lost, Cancelled, Unsent, Shut, Gone, Erred, Answered } /* ends */
mtype = { No, Unknown, Yes }                                        /* executed */
mtype = { Serving, Looking, Unsubscribing, Waiting, Left }          /* an instance that closes */

chan toReceiver = [8] of { mtype, byte, byte }; /* kind, number of the part, number of its byte or 0 */
chan toSender = [8] of { mtype, byte };         /* kind, window */
mtype link[2] = Up;
mtype sender, receiver; /* how the stream has ended for them, 0 before */
byte asked;             /* parts without a body since the window was opened */
bool ran;               /* the handler has begun */
bool stuck;             /* the reader reads no more */
bool fails = true;      /* what may still happen: the writer fails, */
bool closes = true;     /* the reader closes, */
byte faults = FAULTS;   /* connections break, */
bool drains = true;     /* the instance closes */
bool faulty, partLost;
#ifdef REQUEST
mtype executed;         /* as the caller reports it */
mtype phase = Serving;
bool endpoint = true;   /* subscriptions */
bool direct = true;
#define isArriving (ran && !receiver)
#endif

#define carries(from, to) (link[from] == Up && link[to] == Up)

#ifdef REQUEST /* part 1 goes to the endpoint, the others to the instance */
#define subscribes(number) (number == 1 -> endpoint : direct)
#define isTold (link[SENDER] == Up)
#else
#define subscribes(number) true
#define isTold false
#endif

inline sendPart(kind, number, byteNumber) {
	if
	:: carries(SENDER, RECEIVER) && subscribes(number) -> toReceiver!kind, number, byteNumber
	:: isTold && (link[RECEIVER] == Down || link[RECEIVER] == Dead || link[RECEIVER] == Up && !subscribes(number)) ->
		partLost = true; toSender!Notice, 0 /* Caller 3 */
	:: !isTold && !carries(SENDER, RECEIVER) || link[RECEIVER] == Broken -> partLost = true
	fi
}

#define reply(kind, value) \
	if \
	:: carries(RECEIVER, SENDER) -> toSender!kind, value \
	:: else \
	fi

/* ---- The sender ---- */

#ifdef NO_WINDOW
#define hasRoom true
#else
#define hasRoom (sent < limit)
#endif

/* What is the end of a stream for its sender is the end of the call for a caller. */
#ifdef REQUEST
#define fail(why, has) \
	sender = why; executed = has; \
	CHECK(ExecutedNo, executed != No || !ran); \
	goto ended
#define reportFailure if :: carries(SENDER, RECEIVER) -> toReceiver!Cancel, 0, 0 :: else fi
#else
#define fail(why, has) sender = why; goto ended
#ifdef ERROR_AS_END
#define reportFailure number++; sendPart(Last, number, 0)
#else
#define reportFailure if :: carries(SENDER, RECEIVER) -> toReceiver!Replacement, 0, 0 :: else fi /* End */
#endif
#endif

/* A caller whose part cannot be published has sent part 1, so the handler may have begun. */
#ifdef UNSENT_SAYS_NO
#define unsent No
#else
#define unsent (number > 0 -> Unknown : No)
#endif

#ifdef REQUEST
#define SENDS && limit
#define NO_ACK (limit == 0)
#else
#define SENDS
#define NO_ACK false
#endif
#ifdef NO_QUESTION
#define NEVER_ASKS true
#else
#define NEVER_ASKS false
#endif

active proctype Sender() {
	mtype kind;
	byte number, sent, limit, value;
	bool finished;

#ifdef REQUEST
	atomic {
		if
		:: link[SENDER] == Down -> fail(Unsent, No)
		:: else -> number = 1; sent = 1; sendPart(Part, 1, 1)
		fi
	}
#else
	limit = WINDOW; ran = true;
#endif
	do
	:: atomic { !finished && sent < TOTAL && hasRoom && (number > 0 || sent == 0) SENDS ->
		if
		:: link[SENDER] == Down -> REACHED(Unsent) fail(Unsent, unsent)
		:: else -> number++; sent++; sendPart(Part, number, sent)
		fi }
	:: atomic { !finished && sent == TOTAL SENDS ->
		if
		:: link[SENDER] == Down -> fail(Unsent, unsent)
		:: else -> number++; sendPart(Last, number, 0);
#ifdef REQUEST
			finished = true /* the response is still to come */
#else
			sender = Whole; REACHED(SenderWhole) goto endWhole
#endif
		fi }
#ifndef NO_QUESTION
	:: atomic { !finished && sent < TOTAL && !hasRoom && asked < ASKS SENDS && LATE -> /* Alive */
		if
		:: link[SENDER] == Down -> fail(Unsent, unsent)
		:: else -> REACHED(Question)
#ifdef PATIENT
			CHECK(WindowOpens, faulty || stuck || receiver);
#endif
			asked++; number++; sendPart(Part, number, 0)
		fi }
#endif
#ifndef NO_SENDER_BUDGET
	:: atomic { !finished && sent < TOTAL && !hasRoom && (asked == ASKS || NEVER_ASKS) && LATE -> /* Alive: no ack */
		REACHED(Shut)
#ifdef PATIENT
		CHECK(WindowOpens, stuck || partLost || receiver || link[RECEIVER] == Dead || link[SENDER] != Up || NO_ACK);
		CHECK(LeavingNoticed, faulty || receiver != Closed);
#endif
		fail(Shut, Unknown) }
#endif
	:: atomic { fails && !finished -> REACHED(Erred) fail(Erred, Unknown) }
	:: atomic { toSender?kind, value ->
		if
		:: kind == Window ->
#ifdef RELATIVE_WINDOW
			limit = limit + 1; asked = 0
#else
			if :: value > limit -> limit = value; asked = 0 :: else fi
#endif
		:: kind == Cancel -> REACHED(Cancelled) fail(Cancelled, Unknown)
#ifdef REQUEST
		:: kind == Result -> REACHED(Answered) fail(Answered, Yes) /* End: send no more */
		:: kind == Notice -> REACHED(Gone)
			CHECK(DrainLosesNothing, faulty || number == 1);
			fail(Gone, (number == 1 -> No : Unknown))
#endif
		fi }
#ifdef REQUEST
	:: atomic { LATE && (finished || limit == 0) -> REACHED(NoResult) /* Caller 4 and 5 */
#ifdef PATIENT
		CHECK(StreamEnds, faulty || stuck);
#endif
		fail(Late, Unknown) }
#endif
	od;

ended:
	atomic {
		if
		:: sender == Answered || sender == Cancelled || sender == Gone
#ifdef SILENT_ERROR
		:: else
#else
		:: else -> reportFailure
#endif
		fi }
endWhole:
	do
	:: toSender?_, _
	od
}

/* ---- The receiver ---- */

#define close(why) \
	receiver = why; \
	REPORT(why)

/* A caller that ends a stream cancels it. A handler answers. */
#ifdef REQUEST
#define REPORT(why) reply(Result, 0)
#elif defined NO_CANCEL
#define REPORT(why) skip
#else
#define REPORT(why) \
	if \
	:: why != Whole && why != Replaced -> reply(Cancel, 0) \
	:: else \
	fi
#endif

#ifdef NO_ORDER
#define isNext(part) (part >= next)
#define isGap(part) false
#else
#define isNext(part) (part == next)
#define isGap(part) (part > next)
#endif

#ifdef OPENS_LATE
#define opensAt (WINDOW + 1)
#else
#define opensAt ((WINDOW + 1) / 2)
#endif

/* The sender may still ask whether the receiver is there, so the receiver has not waited for the time budget. */
#ifdef PATIENT
#define mayAsk (!sender && asked < ASKS && link[SENDER] == Up && link[RECEIVER] == Up)
#else
#define mayAsk false
#endif

#ifdef REQUEST
#define STARTED (next > 1)
#define REQUESTED true
#define KEPT (WINDOW + 1) /* part 1 needs no window */
#else
#define STARTED true
#define REQUESTED false
#define KEPT WINDOW
#endif

#ifdef OPENS_WIDE
#define allowed (received + WINDOW)
#else
#define allowed (read + WINDOW)
#endif

active proctype Receiver() {
	mtype kind;
	byte number, byteNumber, next = 1, received, read, opened;
	opened = WINDOW;

end:
	do
	:: atomic { !receiver && link[RECEIVER] != Dead && nempty(toReceiver) -> toReceiver?kind, number, byteNumber;
		if
		:: kind == Cancel -> REACHED(CancelledReader) close(Cancelled)
		:: kind == Replacement -> REACHED(Replaced) close(Replaced)
		:: (kind == Part || kind == Last) && isGap(number) -> REACHED(Gap) /* Order */
#ifdef PATIENT
			CHECK(StreamEnds, faulty);
#endif
			close(Gap)
		:: (kind == Part || kind == Last) && number < next
		:: kind == Part && isNext(number) && byteNumber -> next = number + 1;
#ifdef REQUEST
			if
			:: number == 1 -> ran = true; opened = WINDOW + 1; reply(Window, opened);
				CHECK(ExecutedNo, executed != No)
			:: else
			fi;
#endif
			if
			:: received >= opened -> CHECK(WindowHolds, false); close(Beyond) /* End: beyond the window */
			:: else -> received++; CHECK(StreamWhole, byteNumber == received); CHECK(WindowHolds, received - read <= KEPT)
			fi
		:: kind == Part && isNext(number) && !byteNumber -> next = number + 1; /* Alive: answered by the window as it is */
#ifndef NO_ANSWER
			if :: allowed > opened -> opened = allowed :: else fi;
			reply(Window, opened)
#endif
		:: kind == Last && isNext(number) -> REACHED(Whole)
			CHECK(StreamWhole, received == TOTAL && (sender == Whole || REQUESTED));
			close(Whole)
		fi; kind = 0; number = 0; byteNumber = 0 }
	:: atomic { !receiver && link[RECEIVER] != Dead && read < received && !stuck -> /* Window */
		read++;
		if
		:: allowed - opened >= opensAt && allowed > opened -> opened = allowed; reply(Window, opened)
		:: else
		fi }
	:: atomic { !receiver && link[RECEIVER] != Dead && read < received && !stuck && closes -> stuck = true }
	:: atomic { !receiver && link[RECEIVER] != Dead && closes && STARTED -> REACHED(Closed) close(Closed) }
#ifndef NO_RECEIVER_BUDGET
	:: atomic { !receiver && link[RECEIVER] != Dead && !mayAsk && STARTED && LATE -> REACHED(Late) /* Alive: no part */
#ifdef PATIENT
		CHECK(StreamEnds, faulty || stuck);
#ifndef REQUEST
		CHECK(CrashNoticed, link[SENDER] != Dead || link[RECEIVER] != Up);
#endif
#endif
		close(Late) }
#endif
#ifndef REQUEST
#ifndef NO_PROBE
	:: atomic { !receiver && link[SENDER] == Dead && link[RECEIVER] == Up && empty(toReceiver) -> /* Caller 8 */
		REACHED(Lost) close(Lost) }
#endif
#else
	/* Conn.Close: the parts of what has begun still come. An instance that looks for such requests first misses one
	 * that comes before its endpoint is gone. */
#ifdef LOOKS_FIRST
	:: atomic { drains && phase == Serving && link[RECEIVER] == Up ->
		drains = false; phase = (isArriving -> Looking : Unsubscribing) }
	:: atomic { phase == Looking -> endpoint = false; phase = Waiting }
	:: atomic { phase == Unsubscribing -> endpoint = false; direct = false; phase = Left }
#else
	:: atomic { drains && phase == Serving && link[RECEIVER] == Up -> drains = false; endpoint = false; phase = Waiting }
#endif
	:: atomic { phase == Waiting && empty(toReceiver) && !isArriving -> REACHED(Drained) direct = false; phase = Left }
#endif
	:: atomic { receiver && nempty(toReceiver) -> toReceiver?kind, number, byteNumber;
		kind = 0; number = 0; byteNumber = 0 }
	od
}

/* Both sides have ended, or the process of one has, or there was no request. */
active proctype End() {
	(sender || link[SENDER] == Dead) && (receiver || link[RECEIVER] == Dead || REQUESTED && !ran)
}

/* ---- What goes wrong ---- */

active proctype Fault() {
	byte c;
	atomic { /* else no time-out would come to one that is patient */
		if :: fails = false :: skip fi;
		if :: closes = false :: skip fi;
		if :: faults = 0 :: skip fi;
		if :: drains = false :: skip fi
	}
end:
	do
	:: atomic { faults && !(sender && receiver) ->
		faults--;
		if :: c = SENDER :: c = RECEIVER fi;
		if :: link[c] == Up :: else -> break fi;
		link[c] = Broken; faulty = true;
		do
		:: toReceiver?_, _, _ -> partLost = true
		:: toSender?_, _
		:: empty(toReceiver) && empty(toSender) -> break
		od }
		if
		:: atomic { link[c] = Dead }
		:: link[c] = Down; link[c] = Up
		fi; c = 0
	od
}
