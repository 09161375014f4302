/**
 * One account that attacks: `attacker.ts ORIGIN OUTSIDE NUMBER`. Prepares, says `ready 0`, attacks from the first byte on its
 * input to the last, and then says how often. It is a process of its own, so that what it does isn't taken for a delay of
 * the server.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Account } from './account.ts'
import { attacks } from './attacks.ts'

const [origin = '', outside = '', number = ''] = process.argv.slice(2)
const { prepare, abreast } = attacks[Number(number)]!
const act = await prepare(await Account.signUp(origin, `attacker${number}@example.com`), outside)
process.stdout.write('ready 0\n')
await once(process.stdin, 'data')
const over = new AbortController()
let acts = 0
process.stdin.once('end', () => over.abort()).resume()
const callers = Array.from({ length: abreast }, async () => {
  while (!over.signal.aborted) {
    // What is refused at once would only measure how fast refusals are asked for.
    await Promise.all([act().catch(() => null), sleep(50)])
    acts++
  }
})
await Promise.race([Promise.all(callers), once(process.stdin, 'end').then(() => sleep(15_000))])
process.stdout.write(`acts ${acts}\n`, () => process.exit())
