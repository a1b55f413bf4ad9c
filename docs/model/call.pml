/* A unicast call: one caller, a broker, the instances of one host. README.md says what is modelled, and how to run it.
 * "Caller 3" is rule 3 of a caller in ../reference/wire.md, "Server 2" is one of a server, "Parts" one of its sections.
 * CHECK names the property that it checks. A mutation is a define that breaks a rule.
 */

/* The bounds. */
#ifndef INSTANCES
#define INSTANCES 2 /* 1 or 2 */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef PARTS
#define PARTS 1 /* messages of the request */
#endif
#ifndef FAULTS
#define FAULTS 1 /* crashes, and connections that break */
#endif
#ifndef DRAINS
#define DRAINS 1 /* instances that close */
#endif

#include "check.h"

#define CALLER 0
#define STRANGER 3
#define SLOTS (INSTANCES * ATTEMPTS)
#define slot(i, a) (((i) - 1) * ATTEMPTS + (a) - 1)
#define bit(i) (1 << (i))

mtype = { Request, Ack, Response, Notice, Gone, Cancel, Drained } /* messages */
mtype = { Up, Broken, Down, Dead }                                /* connections; Broken: nobody has noticed it */
mtype = { None, Waiting, Queued, Running, Over }                  /* a request at an instance */
mtype = { Serving, Unsubscribing, Quiet, Closed }                 /* an instance */
mtype = { Ok, Failed, Refused }                                   /* responses; Refused: no handler ran */
mtype = { NoSubscriber, Left }                                    /* why an attempt has reached no instance */
mtype = { Unsent, NoResponder, NoAck, Timeout, CallerLeft, Disconnected, Lost, Answered } /* outcomes */
mtype = { Yes, No, Unknown }                                      /* executed */

/* The broker routes a message as it is published, so each connection has one queue: what comes to it. */
chan inbox[INSTANCES + 1] = [8] of { mtype, byte, byte, mtype }; /* kind, attempt, instance or part, response */
mtype link[INSTANCES + 1] = Up;
bool endpoint[INSTANCES + 1] = true; /* subscriptions of the instances, as the broker knows them */
bool direct[INSTANCES + 1] = true;
bool answers[INSTANCES + 1] = true;

mtype request[SLOTS] = None;
byte received[SLOTS];  /* parts */
bool cancelled[SLOTS];
bool slow[SLOTS];      /* the handler returns only when it is stopped */
bool owed[SLOTS];      /* the instance has acked, and has not answered */
mtype phase[INSTANCES + 1] = Serving;

byte attempt;
byte ran;              /* bits of the instances whose handlers ran */
mtype outcome;         /* 0 while the call is open */
mtype executed;
bool faulty;           /* a connection has broken */
bool leaves = true;    /* what may still happen: the caller stops waiting */
byte faults = FAULTS;
byte drains = DRAINS;

/* A message gets lost on a connection that is Broken, on either side. */
#define deliver(to, kind, a, value, response) \
	if \
	:: link[to] == Up -> inbox[to]!kind, a, value, response \
	:: else \
	fi

/* Caller 3: the broker reports that no instance subscribes. */
#ifdef NO_NOTICE
#define notice(a) skip
#else
#define notice(a) deliver(CALLER, Notice, a, 0, 0)
#endif

/* Part 1 goes to one instance of the queue group. */
inline publishFirst(a) {
	if
	:: link[CALLER] == Broken
#ifdef NO_QUEUE
	:: link[CALLER] == Up && (endpoint[1] || endpoint[INSTANCES]) ->
		if :: endpoint[1] -> deliver(1, Request, a, 1, 0) :: else fi;
		if :: INSTANCES > 1 && endpoint[INSTANCES] -> deliver(INSTANCES, Request, a, 1, 0) :: else fi
#else
	:: link[CALLER] == Up && endpoint[1] -> deliver(1, Request, a, 1, 0)
	:: link[CALLER] == Up && INSTANCES > 1 && endpoint[INSTANCES] -> deliver(INSTANCES, Request, a, 1, 0)
#endif
	:: link[CALLER] == Up && !endpoint[1] && !endpoint[INSTANCES] -> notice(a)
	fi
}

/* Parts, a request: the others go to the instance that has acked. */
inline publishPart(a, to, number) {
	if
	:: link[CALLER] == Up && direct[to] -> deliver(to, Request, a, number, 0)
	:: link[CALLER] == Up && !direct[to] -> notice(a)
	:: link[CALLER] == Broken
	fi
}

inline publishCancel(a, to) {
#ifdef NO_CANCEL
	skip
#else
	if
	:: link[CALLER] == Up && answers[to] -> deliver(to, Cancel, a, 0, 0) /* a closing instance still takes it */
	:: else
	fi
#endif
}

#define toCaller(i, kind, a, response) \
	if \
	:: link[i] == Up -> deliver(CALLER, kind, a, i, response) \
	:: else \
	fi

/* ---- The caller ---- */

#define incomplete (PARTS > 1 && part < PARTS)
/* One that is patient sends all parts, and acts on what it has heard, before it asks. */
#ifdef PATIENT
#define ASKS (!incomplete && !failed)
#else
#define ASKS true
#endif
#define isAway(i) ((acks & bit(i)) && !answers[i])

/* A caller that has not sent the last part knows that no handler has run. */
#ifdef SENT_SAYS_NO
#define unsure (PARTS > 1 -> No : Unknown)
#else
#define unsure (incomplete -> No : Unknown)
#endif

#define end(why, has) \
	outcome = why; executed = has; \
	CHECK(ExecutedNo, executed != No || !ran); \
	CHECK(ExecutedYes, executed != Yes || ran); \
	goto ended

/* A mutation makes an attempt again that may have reached an instance. */
#define retryOr(why, has) \
	if \
	:: attempt < ATTEMPTS -> goto again \
	:: attempt == ATTEMPTS -> end(why, has) \
	fi

active proctype Caller() {
	mtype kind, verdict, response, failed;
	byte a, value, acks, receiver, part, suspect;
	bool left;

again:
	atomic {
		attempt++; acks = 0; receiver = 0; part = 1; failed = 0; suspect = 0;
		if
		:: link[CALLER] == Down -> REACHED(Unsent) end(Unsent, No)
		:: else -> publishFirst(attempt)
		fi
	}
	do
	:: atomic { inbox[CALLER]?kind, a, value, verdict ->
		if
#ifdef SAME_ID
		:: true
#else
		:: a == attempt /* Caller 6: others have no waiting call */
#endif
			if
			:: kind == Ack ->
				acks = acks | bit(value);
				if :: PARTS > 1 && !receiver -> receiver = value :: else fi
			:: kind == Response ->
				if
#ifndef NO_SENDER_CHECK
				:: value == STRANGER /* Caller 6: another host than the one called */
				:: value != STRANGER && acks && !(acks & bit(value)) /* Caller 6: it has not acked */
				:: value != STRANGER && receiver && receiver != value
#endif
				:: else -> if :: !response -> response = verdict :: else fi
				fi
			:: kind == Notice ->
				if
				:: receiver && !failed -> failed = Left
				:: !receiver && !acks && !failed -> failed = NoSubscriber
				:: else
				fi
			:: kind == Gone -> /* Caller 8: a second time in a row */
				if
				:: suspect != value -> suspect = value
				:: suspect == value && !response -> REACHED(Lost)
#ifdef PATIENT
					CHECK(DrainLosesNothing, faulty);
#endif
#ifdef RETRY_LOST
					retryOr(Lost, unsure)
#endif
#ifdef LOST_SAYS_NO
					end(Lost, No)
#else
					end(Lost, unsure)
#endif
				:: else
				fi
			fi
		:: else
		fi; kind = 0; a = 0; value = 0; verdict = 0 }
	:: atomic { response == Ok -> REACHED(Ok) end(Answered, Yes) }
	:: atomic { response == Failed -> REACHED(Failed) end(Answered, Yes) }
	:: atomic { response == Refused -> REACHED(Refused) end(Answered, No) }
	:: atomic { !response && failed -> /* Caller 3, and Parts, a request: nothing has run */
		REACHED(Retry)
		if
		:: attempt < ATTEMPTS -> goto again
		:: attempt == ATTEMPTS -> REACHED(NoResponder)
#ifdef PATIENT
			CHECK(DrainLosesNothing, faulty || phase[1] != Serving && phase[INSTANCES] != Serving);
#endif
			end(NoResponder, No)
		fi }
	:: atomic { receiver && part < PARTS && !response && !failed ->
		if
		:: link[CALLER] == Down -> REACHED(PartUnsent) end(Unsent, No)
		:: else -> part++; publishPart(attempt, receiver, part)
		fi }
	:: atomic { !response && !failed && !acks && link[CALLER] == Up && LATE -> /* Caller 4 */
		REACHED(NoAck)
#ifdef PATIENT
		CHECK(AbsenceAtOnce, faulty);
#endif
#ifdef RETRY_NO_ACK
		retryOr(NoAck, Unknown)
#endif
#ifdef NO_ACK_SAYS_NO
		end(NoAck, No)
#else
		end(NoAck, unsure)
#endif
		}
#ifndef NO_BUDGET
	:: atomic { !response && !failed && LATE -> /* Caller 5 */
		REACHED(Timeout)
#ifdef PATIENT
		CHECK(DrainLosesNothing, faulty || slow[slot(1, attempt)] || slow[slot(INSTANCES, attempt)]);
		CHECK(CrashNoticed, link[CALLER] != Up || !isAway(1) && !isAway(INSTANCES));
#endif
#ifdef TIMEOUT_SAYS_NO
		end(Timeout, No)
#else
		end(Timeout, unsure)
#endif
		}
#endif
	:: atomic { leaves && !response && !failed -> REACHED(CallerLeft) end(CallerLeft, unsure) }
	:: atomic { !response && !failed && link[CALLER] == Down && LATE -> /* the outage is longer than the grace */
		REACHED(Disconnected) end(Disconnected, unsure) }
#ifndef NO_QUESTION
	:: atomic { !response && link[CALLER] == Up && (isAway(1) || isAway(INSTANCES)) && ASKS &&
			!inbox[CALLER]??[Gone, eval(attempt), 1, 0] && !inbox[CALLER]??[Gone, eval(attempt), INSTANCES, 0] ->
		if /* Caller 8, where it makes a difference */
		:: isAway(1) -> inbox[CALLER]!Gone, attempt, 1, 0
		:: else -> inbox[CALLER]!Gone, attempt, INSTANCES, 0
		fi }
#endif
	od;

ended:
	atomic { /* Caller 7: from now on an ack is unexpected */
		if
		:: outcome != Answered -> left = true;
			if :: acks & bit(1) -> publishCancel(attempt, 1) :: else fi;
			if :: INSTANCES > 1 && (acks & bit(INSTANCES)) -> publishCancel(attempt, INSTANCES) :: else fi
		:: else
		fi;
		acks = 0; receiver = 0; part = 0; response = 0; failed = 0; suspect = 0
	}
endLate:
	do
	:: atomic { inbox[CALLER]?kind, a, value, verdict ->
#ifndef NO_LATE_CANCEL
		if
		:: kind == Ack && a == attempt && left -> publishCancel(attempt, value); left = false
		:: else
		fi;
#endif
		kind = 0; a = 0; value = 0; verdict = 0 }
	od
}

/* ---- An instance ---- */

#define respond(i, a, verdict) \
	request[slot(i, a)] = Over; slow[slot(i, a)] = false; owed[slot(i, a)] = false; \
	toCaller(i, Response, a, verdict)

/* Server 3: a request that is not handled is answered with executed no. */
#define admit(i, a) \
	if \
	:: phase[i] != Closed && !closing -> request[slot(i, a)] = Queued \
	:: closing -> CHECK(DrainLosesNothing, false); respond(i, a, Refused) \
	fi

#define handle(i, a) \
	:: atomic { link[i] != Dead && request[slot(i, a)] == Queued -> \
		if \
		:: SKIPS(cancelled[slot(i, a)]) -> REACHED(Skipped) respond(i, a, Refused) \
		:: RUNS(cancelled[slot(i, a)]) -> \
			CHECK(LeavingNoticed, !cancelled[slot(i, a)]); \
			CHECK(AtMostOnce, !RAN(i)); \
			CHECK(ExecutedNo, executed != No); \
			CHECK(ArrivesWhole, received[slot(i, a)] == PARTS); \
			ran = ran | bit(i); request[slot(i, a)] = Running; \
			if :: slow[slot(i, a)] = true :: skip fi \
		fi } \
	:: atomic { link[i] != Dead && request[slot(i, a)] == Running && link[i] != Down && \
			(!slow[slot(i, a)] || cancelled[slot(i, a)]) -> \
		if :: respond(i, a, Ok) :: respond(i, a, Failed) fi } \
	:: atomic { request[slot(i, a)] == Running && slow[slot(i, a)] && !cancelled[slot(i, a)] && link[i] == Up && LATE -> \
		NOTICED(i); REACHED(Stopped) respond(i, a, Failed) } \
	:: atomic { request[slot(i, a)] == Running && link[i] == Down && LATE -> /* the broker stays away */ \
		REACHED(ResponseLost) request[slot(i, a)] = Over; slow[slot(i, a)] = false; owed[slot(i, a)] = false } \
	:: atomic { link[i] != Dead && request[slot(i, a)] == Waiting && LATE -> /* Parts, time */ \
		REACHED(PartsLate) respond(i, a, Refused) }

#ifdef NO_QUEUE
#define RAN(i) (ran & bit(i)) /* each instance runs it once */
#else
#define RAN(i) ran
#endif

#ifdef RUNS_CANCELLED
#define SKIPS(cancel) false
#define RUNS(cancel) true
#else
#define SKIPS(cancel) (cancel)
#define RUNS(cancel) (!(cancel))
#endif

/* In an orderly world a caller that has left has stopped its handler before the end of the time budget. */
#ifdef PATIENT
#define NOTICED(i) CHECK(LeavingNoticed, !outcome || faulty || phase[i] != Serving)
#else
#define NOTICED(i) skip
#endif

#define isIdle(i, a) (request[slot(i, a)] != Queued && request[slot(i, a)] != Running)
#if ATTEMPTS > 2
#define areIdle(i) (isIdle(i, 1) && isIdle(i, 2) && isIdle(i, 3))
#define owesNone(i) (!owed[slot(i, 1)] && !owed[slot(i, 2)] && !owed[slot(i, 3)])
#elif ATTEMPTS > 1
#define areIdle(i) (isIdle(i, 1) && isIdle(i, 2))
#define owesNone(i) (!owed[slot(i, 1)] && !owed[slot(i, 2)])
#else
#define areIdle(i) (isIdle(i, 1))
#define owesNone(i) (!owed[slot(i, 1)])
#endif

#ifdef LEAVES_EARLY
#define LEAVES(i) true
#else
#define LEAVES(i) areIdle(i)
#endif

/* Requests that still lack parts are dropped: the broker answers the next part with a notice. */
#define drop(i, a) \
	if \
	:: request[slot(i, a)] == Waiting -> request[slot(i, a)] = Over; owed[slot(i, a)] = false \
	:: else \
	fi

#define acknowledge(i, a) owed[slot(i, a)] = true; toCaller(i, Ack, a, 0)

active [INSTANCES] proctype Instance() {
	mtype kind, verdict;
	byte i, a, value, s;
	bool closing;
	i = _pid;

end:
	do
	:: atomic { link[i] != Dead && inbox[i]?[kind, a, value, verdict] -> inbox[i]?kind, a, value, verdict;
		if :: kind == Drained -> s = 0 :: else -> s = slot(i, a) fi;
		if
		:: kind == Request && value == 1 && request[s] == None -> /* Server 2 */
			received[s] = 1;
#ifndef ACK_LAST
			acknowledge(i, a);
#endif
			if
			:: REACHED(Rejected) respond(i, a, Refused)
			:: PARTS == 1 -> admit(i, a)
			:: PARTS > 1 -> request[s] = Waiting
			fi
		:: kind == Request && value > 1 && request[s] == Waiting -> /* Parts, order */
			if
#ifdef NO_ORDER
			:: value == PARTS -> admit(i, a)
			:: value < PARTS -> received[s]++
#else
			:: value == received[s] + 1 && value < PARTS -> received[s] = value
			:: value == received[s] + 1 && value == PARTS -> received[s] = value; admit(i, a)
			:: value > received[s] + 1 -> REACHED(PartLost) respond(i, a, Refused)
#endif
			fi
		:: kind == Cancel && request[s] == Waiting -> request[s] = Over; owed[s] = false
		:: kind == Cancel && (request[s] == Queued || request[s] == Running) -> cancelled[s] = true /* Server 3 */
		:: kind == Drained -> phase[i] = Quiet
		:: else
		fi; kind = 0; a = 0; value = 0; verdict = 0; s = 0 }
	handle(i, 1)
#if ATTEMPTS > 1
	handle(i, 2)
#endif
#if ATTEMPTS > 2
	handle(i, 3)
#endif
	:: atomic { link[i] == Up && phase[i] == Serving && drains && !outcome -> /* Conn.Close */
		drains--; phase[i] = Unsubscribing; endpoint[i] = false; direct[i] = false;
#ifdef CLOSES_FIRST
		closing = true;
#endif
#ifdef STOPS_ANSWERING
		answers[i] = false;
#endif
		inbox[i]!Drained, 1, 0, 0 }
	:: atomic { link[i] == Down && phase[i] == Unsubscribing -> phase[i] = Quiet } /* nothing more arrives */
	:: atomic { phase[i] == Quiet && !closing && link[i] != Dead -> closing = true;
		drop(i, 1);
#if ATTEMPTS > 1
		drop(i, 2);
#endif
#if ATTEMPTS > 2
		drop(i, 3);
#endif
		}
	:: atomic { phase[i] == Quiet && closing && link[i] != Dead && LEAVES(i) ->
		CHECK(DrainLosesNothing, owesNone(i) || link[i] == Down);
		REACHED(Drained) phase[i] = Closed; answers[i] = false; break }
	od
}

/* ---- What goes wrong ---- */

inline clear(c) {
	do
	:: inbox[c]?_, _, _, _
	:: empty(inbox[c]) -> break
	od
}

active proctype Fault() {
	byte c;
	atomic { /* else no time-out would come to one that is patient */
		if :: leaves = false :: skip fi;
		if :: faults = 0 :: skip fi;
		if :: drains = 0 :: skip fi
	}
end:
	do
	:: atomic { faults && !outcome ->
		faults--;
		if :: c = CALLER :: c = 1 :: INSTANCES > 1 -> c = INSTANCES fi;
		if :: link[c] == Up && phase[c] != Closed :: else -> break fi;
		link[c] = Broken; faulty = true; clear(c) }
		if
		:: atomic { c != CALLER -> link[c] = Dead }
			atomic { endpoint[c] = false; direct[c] = false; answers[c] = false; c = 0 }
		:: atomic { link[c] = Down;
			if :: c != CALLER -> endpoint[c] = false; direct[c] = false; answers[c] = false :: else fi }
			atomic { link[c] = Up;
				if
				:: c != CALLER && phase[c] != Closed -> answers[c] = true;
					endpoint[c] = (phase[c] == Serving); direct[c] = (phase[c] == Serving)
				:: else
				fi; c = 0 }
		fi
	od
}

#ifdef FORGER
/* Another host that has seen the request answers it. */
active proctype Forger() {
end:
	atomic { attempt == 1 && link[CALLER] == Up -> inbox[CALLER]!Response, 1, STRANGER, Ok }
}
#endif
