import { test } from 'node:test'
import { playFaults } from './play.ts'

const ROUNDS = Number(process.env['UKIYO_FAULT_ROUNDS'] ?? 200)

test(`${ROUNDS} faults of servers, daemon, keeper and network under load: ends are true, nothing runs or is typed twice, uploads are whole, screens are those of who saw it all`, async (context) => {
  context.diagnostic(JSON.stringify(await playFaults(ROUNDS)))
})
