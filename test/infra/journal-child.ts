/** A server process with one ended, one open, and one unsent call, all unreserved. Waits to be killed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createLedger } from '#infra/ledger/create-ledger.ts'
import type { Payer } from '#infra/ledger/ledger.ts'
import { createLog } from '#infra/log.ts'
import { connectPostgres } from '#infra/postgres/client.ts'
import { startProcess } from '#infra/processes/processes.ts'
import { call, outcome } from './ledger-calls.ts'

const [connection, words, journalDir] = process.argv.slice(2)
const log = createLog('error')
const postgres = connectPostgres(JSON.parse(connection!), () => {})
const { id: processId } = await startProcess({ postgres, log })
const ledger = createLedger({ postgres, processId, log, journalDir: journalDir! })
const payer = JSON.parse(words!) as Payer
const [endedCall, open, unsent] = [call(payer), call(payer), call(payer)]
for (const each of [endedCall, open, unsent]) ledger.markSent(each)
ledger.settle(endedCall, outcome(300n, { finishReason: 'a\tword\nof theirs' }))
ledger.release(unsent)
// Longer than a journal line waits, shorter than a settlement.
await sleep(20)
process.stdout.write(`${JSON.stringify([endedCall, open, unsent].map(({ id }) => id))}\n`)
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
