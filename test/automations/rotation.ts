import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestServer } from '../server.ts'
import { type Hook, deliver, makeHook } from './senders.ts'

const SENDERS = 4

/**
 * Senders that learn of a new secret late, as they do: each signs with one that counts still, old or new. Every delivery
 * must be taken, by whichever process; where the overlap is short, one signed with a secret whose time is over must not.
 */
export async function rotateUnderTraffic(
  servers: readonly TestServer[],
  { seconds, everyMs, overlapSeconds }: { seconds: number; everyMs: number; overlapSeconds: number },
): Promise<{ rotations: number; deliveries: number; withFormer: number }> {
  const alice = await servers[0]!.person('Alice')
  const first = await makeHook(alice, 'skip')
  const known: { hook: Hook; gone: number }[] = [{ hook: first, gone: Infinity }]
  const seen = { rotations: 0, deliveries: 0, withFormer: 0 }
  const until = Date.now() + seconds * 1_000
  const goesOn = (): boolean => Date.now() < until || seen.withFormer < 10 || seen.rotations < 2
  const send = async (n: number): Promise<void> => {
    for (let i = 0; goesOn(); i++) {
      // Of what may run out on its way, none.
      const valid = known.filter(({ gone }) => gone > Date.now() + 1_000)
      const { hook, gone } = valid[Math.floor(Math.random() * valid.length)]!
      const answer = await deliver(servers[(n + i) % servers.length]!.origin, hook, `msg_${n}_${i}`)
      assert.equal(answer.status, 202, `${answer.text}, with a secret that counts for ${gone - Date.now()} ms more`)
      seen.deliveries += 1
      if (gone !== Infinity) seen.withFormer += 1
    }
  }
  const rotate = async (): Promise<void> => {
    for (; goesOn(); await sleep(everyMs)) {
      // A secret counts from before its answer is there, and its former for as long as was asked at least.
      const asked = Date.now()
      const { status, body, text } = await alice.post(`/automations/${first.id}/rotate-secret`, {
        overlap_seconds: overlapSeconds,
      })
      assert.equal(status, 200, text)
      known.at(-1)!.gone = asked + overlapSeconds * 1_000
      known.push({ hook: body.data, gone: Infinity })
      seen.rotations += 1
    }
  }
  await Promise.all([rotate(), ...Array.from({ length: SENDERS }, (_, n) => send(n))])
  assert.ok(seen.withFormer > 0)
  if (overlapSeconds > 10) return seen
  await sleep(Math.max(0, known.at(-2)!.gone + 1_000 - Date.now()))
  for (const { hook, gone } of known.slice(-6)) {
    const answer = await deliver(servers[0]!.origin, hook, 'msg_last')
    assert.equal(answer.status, gone === Infinity ? 202 : 401, 'only the newest counts once the others are over')
  }
  return seen
}
