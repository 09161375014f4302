import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FaultKind } from '#gateway/model/canonical-request.ts'
import {
  type ConnectionState,
  type Reason,
  afterCall,
  afterTest,
  servesElsewhere,
  testAgainMs,
  untestedState,
} from './connection-state.ts'

const start = Date.UTC(2026, 0)
const at = (seconds: number): Date => new Date(start + seconds * 1_000)
const good = { ok: true, firstByteMs: 40.4 } as const
const bad = (kind: FaultKind, status?: number) =>
  ({ ok: false, fault: { kind, message: `said ${kind}`, ...(status !== undefined && { status }) } }) as const
const listSuccess = (provesKey: boolean) => ({ ok: true, latencyMs: 7, models: 3, provesKey }) as const
const refusalOf = (kind: Reason) => ({ ok: false, latencyMs: 7, kind, message: 'no' }) as const
const working = afterCall(untestedState(at(0)), good, 0, at(0))
const failing = (kind: FaultKind): ConnectionState => afterCall(working, bad(kind, 401), 9, at(100))

test('a successful request sets the state to working, and further successes are recorded once a minute', () => {
  assert.deepEqual([working.status, working.latencyMs, working.lastSuccessAt], ['working', 40, at(0)])
  assert.equal(afterCall(working, good, 0, at(59)), working)
  assert.deepEqual(afterCall(working, good, 0, at(60)).lastSuccessAt, at(60))
})

test('a rejected key or an empty account fails at once, an unreachable host after three requests, a faulty model never', () => {
  assert.equal(afterCall(working, bad('upstream_key', 401), 0, at(1)).status, 'failing')
  assert.equal(afterCall(working, bad('upstream_payment', 402), 0, at(1)).status, 'failing')
  const dear = {
    ...bad('upstream_payment', 402),
    fault: { ...bad('upstream_payment', 402).fault, affordsLess: true },
  } as const
  assert.equal(afterCall(working, dear, 0, at(1)).status, 'working', 'smaller requests are paid for')
  assert.equal(afterCall(working, bad('upstream_key', 403), 0, at(1)).status, 'working', 'others were served just now')
  assert.equal(afterCall(working, bad('upstream_key', 403), 0, at(61)).status, 'failing')
  assert.equal(afterCall(working, bad('unreachable'), 2, at(1)).status, 'working')
  assert.equal(afterCall(working, bad('unreachable'), 3, at(1)).status, 'failing')
  const faulty = afterCall(working, bad('server_error', 500), 0, at(1))
  assert.deepEqual([faulty.status, faulty.lastError, faulty.lastErrorAt], ['working', 'said server_error', at(1)])
  assert.equal(afterCall(faulty, bad('server_error', 500), 0, at(30)), faulty, 'once in a minute')
  for (const kind of ['bad_request', 'context_length', 'too_large', 'model_not_found', 'withdrawn'] as const)
    assert.equal(afterCall(working, bad(kind, 400), 9, at(1)), working, kind)
})

test('a later success clears what requests found, and a test clears only what it can prove', () => {
  for (const kind of ['upstream_key', 'upstream_payment', 'unreachable'] as const) {
    const before = failing(kind)
    assert.deepEqual([before.status, before.reason, before.nextTestAt], ['failing', kind, at(130)])
    const healedState = afterCall(before, good, 0, at(101))
    assert.deepEqual(
      [healedState.status, healedState.reason, healedState.nextTestAt, healedState.lastErrorAt],
      ['working', null, null, at(100)],
    )
  }
  const stateAfterTest = (kind: FaultKind, provesKey: boolean) =>
    afterTest(failing(kind), listSuccess(provesKey), true, at(200))
  assert.equal(stateAfterTest('unreachable', false).status, 'working')
  assert.equal(stateAfterTest('upstream_key', true).status, 'working')
  for (const open of [stateAfterTest('upstream_key', false), stateAfterTest('upstream_payment', true)]) {
    assert.deepEqual([open.status, open.reason, open.nextTestAt], ['untested', 'unproven', null])
    assert.equal(afterCall(open, good, 0, at(201)).status, 'working')
    assert.equal(afterCall(open, bad('upstream_key', 401), 0, at(201)).status, 'failing')
  }
})

test('a provider that serves another process isn’t marked as failing', () => {
  const isServedElsewhere = (success: number | null, own: number | null, since: number, now: number) =>
    servesElsewhere(
      { lastSuccessAt: success === null ? null : at(success) },
      own === null ? null : at(own),
      at(since),
      at(now),
    )
  assert.equal(isServedElsewhere(null, null, 0, 1), false, 'nobody ever was')
  assert.equal(isServedElsewhere(10, 10, 20, 21), false, 'only this process was')
  assert.equal(isServedElsewhere(10, 5, 20, 21), true, 'another one is given time to say so')
  assert.equal(isServedElsewhere(10, 5, 20, 26), false, 'it has said nothing')
  assert.equal(isServedElsewhere(22, 5, 20, 90), true, 'it was served since')
  assert.equal(isServedElsewhere(22, 5, 20, 150), false, 'and not any more')
  const doubtedState = afterCall(working, bad('unreachable'), 0, at(1))
  assert.deepEqual([doubtedState.status, doubtedState.lastErrorKind], ['working', 'unreachable'])
  assert.deepEqual(afterCall(doubtedState, good, 0, at(2)).lastSuccessAt, at(2), 'said at once')
})

test('failing tests back off exponentially, and the first success stops them', () => {
  let state = untestedState(at(0))
  const waits: number[] = []
  for (let i = 0; i < 8; i++) {
    state = afterTest(state, refusalOf('unreachable'), true, at(0))
    waits.push((state.nextTestAt!.getTime() - start) / 1_000)
  }
  assert.deepEqual(waits, [30, 60, 120, 240, 480, 900, 900, 900])
  const well = afterTest(state, listSuccess(false), true, at(1))
  assert.deepEqual([well.status, well.failures, well.nextTestAt, well.modelsCount], ['working', 0, null, 3])
  assert.equal(testAgainMs(1_000), 900_000)
})

test('a server without a model list is untested if its models are known, and failing otherwise', () => {
  assert.deepEqual(
    [true, false].map((needsList) => afterTest(untestedState(at(0)), refusalOf('no_list'), needsList, at(1)).status),
    ['failing', 'untested'],
  )
  assert.equal(afterTest(working, refusalOf('no_list'), false, at(1)).status, 'working', 'calls have shown it')
  assert.equal(afterTest(working, refusalOf('rate_limited'), true, at(1)).status, 'working', 'it answered')
})
