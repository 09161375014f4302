/** A server process that reserves three calls, sends one, reports it, and waits to be killed. */
import { createLedger } from '#infra/ledger/create-ledger.ts'
import type { Payer } from '#infra/ledger/ledger.ts'
import { createLog } from '#infra/log.ts'
import { connectPostgres } from '#infra/postgres/client.ts'
import { startProcess } from '#infra/processes/processes.ts'
import { call } from './ledger-calls.ts'

const [connection, words] = process.argv.slice(2)
const log = createLog('error')
const postgres = connectPostgres(JSON.parse(connection!), () => {})
const { id: processId } = await startProcess({ postgres, log })
const ledger = createLedger({ postgres, processId, log })
const payerOptions = JSON.parse(words!) as Omit<Payer, 'key'> & {
  key: { id: string; cap: { nano: string; period: 'total' } }
}
const payer: Payer = {
  ...payerOptions,
  key: { id: payerOptions.key.id, cap: { ...payerOptions.key.cap, nano: BigInt(payerOptions.key.cap.nano) } },
}
const calls = [call(payer), call(payer), call(payer)]
await Promise.all(calls.map((each) => ledger.reserve(each, 1_000n)))
ledger.markSent(calls[0]!, 300n)
const readMark = async () =>
  (await postgres.pool.query('select 1 from reservations where sent_at is not null')).rowCount === 1
while (!(await readMark())) await new Promise((resolve) => setImmediate(resolve))
process.stdout.write(`${JSON.stringify(calls.map(({ id }) => id))}\n`)
setInterval(() => {}, 1_000)
