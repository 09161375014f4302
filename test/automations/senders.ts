import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Program, startProgram } from '../program.ts'
import { type Caller, caller } from '../server.ts'

export interface Hook {
  id: string
  secret: string
}

/** A webhook as Standard Webhooks has it signed. */
export function signed({ secret }: Pick<Hook, 'secret'>, id: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const key = Buffer.from(secret.slice(6), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}

export const deliver = (to: string, hook: Hook, webhookId: string) =>
  caller(to, {}).request('POST', `/automations/${hook.id}/fire`, {}, signed(hook, webhookId, '{}'))

/** Sends as senders do: again, a little later, for as long as nobody answers or the server is not there for it. */
export async function deliverUntilTaken(to: () => string, hook: Hook, webhookId: string) {
  for (let i = 0; i < 400; i++) {
    const answer = await deliver(to(), hook, webhookId).catch(() => null)
    if (answer !== null && answer.status < 500 && answer.status !== 429) return { ...answer, tries: i + 1 }
    await sleep(50 + Math.random() * 100)
  }
  throw new Error(`the delivery ${webhookId} was never taken`)
}

/** Servers in processes of their own that can be killed, on one port each life anew. */
export async function startServer(environment: Record<string, string>): Promise<Program & { origin: string }> {
  const program = startProgram({
    UK_LIMIT_WRITES: '0',
    UK_LIMIT_READS: '0',
    UK_LIMIT_INFERENCE: '0',
    UK_LOG: 'error',
    ...environment,
  })
  return Object.assign(program, { origin: await program.ready })
}

export async function signUp(origin: string): Promise<{ key: string }> {
  const person = { email: 'alice@example.com', password: 'a long password', name: 'Alice' }
  const answer = await caller(origin, { 'x-uk-csrf': '1' }).post('/auth/sign-up', person)
  assert.equal(answer.status, 201, answer.text)
  const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
  const made = await caller(origin, { cookie, 'x-uk-csrf': '1' }).post('/api-keys', { name: 'test', scopes: ['*'] })
  return { key: made.body.data.key }
}

export async function makeHook(alice: Caller, overlap = 'allow'): Promise<Hook> {
  const agent = await alice.post('/agents', { name: 'Clerk', model: 'sim/echo' })
  const action = { type: 'agent', agent_id: agent.body.data.id, prompt: 'Report.' }
  const made = await alice.post('/automations', { name: 'Report', kind: 'webhook', overlap, action })
  assert.equal(made.status, 201, made.text)
  return made.body.data
}
