import { test } from 'node:test'
import { playFaults } from './play.ts'

const ROUNDS = Number(process.env['UKIYO_FAULT_ROUNDS'] ?? 200)

test(`${ROUNDS} faults of servers, daemon, keeper and network keep exit codes, uploads and screens correct and repeat no input`, async (context) => {
  context.diagnostic(JSON.stringify(await playFaults(ROUNDS)))
})
