import { setTimeout as sleep } from 'node:timers/promises'
import { contracts } from '#modules/contracts.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import type { Incoming, SendCall } from '../../client.ts'
import type { Terminal } from '../terminal.ts'

/** Endpoints that respond with the resource itself, not an operation, while its state still changes. */
const ON_ITS_WAY = new Set(['computers.start', 'computers.stop'])
export const isOnItsWay = ({ name }: ListedEndpoint): boolean => ON_ITS_WAY.has(name)

const LOOK_MS = 500
const PASSING = new Set(['provisioning', 'starting', 'stopping'])

/** Waits until a computer has finished starting or stopping. Returns its final state. */
export async function arrive(initial: Incoming, call: SendCall, terminal: Terminal): Promise<Incoming> {
  const { endpoints } = await contracts.computers()
  let lastState = ''
  for (let response = initial; ;) {
    const text = await response.text()
    const { id, lifecycle } = (JSON.parse(text) as { data: { id: string; lifecycle: string } }).data
    if (!PASSING.has(lifecycle)) return { ...response, text: async () => text }
    if (lifecycle !== lastState) terminal.err(`${lifecycle} …`)
    lastState = lifecycle
    await sleep(LOOK_MS)
    response = await call(endpoints.get, { id })
  }
}
