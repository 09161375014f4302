import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Caller, TestServer } from '../server.ts'

export interface Made {
  id: string
  token: string
  secret: string
}

// Tests look into answers freely.
export type Row = Record<string, any>

/** An automation, a webhook unless `more` says otherwise, with an agent of its own. */
export async function make(
  person: Caller,
  more: { workspace_id?: string; [field: string]: unknown } = {},
  model = 'sim/echo',
  prompt = 'Report.',
): Promise<Made> {
  const { workspace_id } = more
  const agent = await person.post('/agents', { name: 'Clerk', model, workspace_id })
  assert.equal(agent.status, 201, agent.text)
  const action = { type: 'agent', agent_id: agent.body.data.id, prompt }
  const answer = await person.post('/automations', { name: 'Report', kind: 'webhook', action, ...more })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}

export const script = (...steps: object[]): string => JSON.stringify({ steps })
/** Ends by itself long after the test. */
export const slow = script({ text: 'one' }, { delay_ms: 120_000 }, { text: 'two' })
export const failing = script(
  { text: 'some words that cost' },
  { error: { type: 'server_error', message: 'no paper' } },
)

export const fire = (
  server: TestServer,
  { id, token }: Made,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  server.stranger.request('POST', `/automations/${id}/fire`, body, { authorization: `Bearer ${token}`, ...headers })

/** The run as soon as it is so. */
export async function runIs(
  person: Caller,
  { id }: { id: string },
  runId: string,
  is: (run: Row) => boolean,
): Promise<Row> {
  for (let i = 0; i < 1_200; i++) {
    const { body } = await person.get(`/automations/${id}/runs?limit=100`)
    const run = body.data.find((row: Row) => row.id === runId)
    if (run && is(run)) return run
    await sleep(50)
  }
  throw new Error('the run did not come to that')
}
export const isOver = ({ status }: Row): boolean => status !== 'queued' && status !== 'running'
export const isRunning = ({ status }: Row): boolean => status === 'running'
