import { pairedComputer } from '../makers.ts'
import type { Person, TestServer } from '../server.ts'
import { startAnthropic } from '../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../vendors/openai/openai.ts'

/** Settings that allow providers on this machine. */
export const environment = { UK_UPSTREAM_ALLOW: '127.0.0.0/8', UK_SIM: 'on' }

export interface Scene {
  aki: Person
  chatId: string
  /** A temporary chat with a diagram. */
  temporaryId: string
  automationId: string
  computerId: string
  webhookId: string
  /** A successful call. */
  requestId: string
  automationRunId: string
  agentId: string
  operationId: string
  folderId: string
  fileId: string
}

/** Seeds an account with history: providers, keys of two workspaces, and paid calls. */
export async function furnish(server: TestServer): Promise<AsyncDisposable & Scene> {
  await using stack = new AsyncDisposableStack()
  const openai = stack.use(await startOpenAI())
  const anthropic = stack.use(await startAnthropic())
  const aki = await server.person('Aki Hayashi')
  const made = async (path: string, body: object) => {
    const answer = await aki.post(path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.body.data
  }
  const at = '/ai-gateway/provider-endpoints'
  const gpt = (input: number, output: number) => [{ id: 'gpt-4o', pricing: { input, output }, context_length: 128_000 }]
  await made(at, { preset: 'openai', base_url: `${openai.origin}/v1`, api_key: openai.key, models: gpt(2.5, 10) })
  await made(at, {
    name: 'OpenAI of the house',
    slug: 'house',
    shape: 'openai-chat',
    base_url: `${openai.origin}/v1`,
    api_key: openai.key,
    models: gpt(2.5, 10),
    instance: true,
  })
  await made(at, {
    name: 'OpenAI, second account',
    slug: 'openai-2',
    shape: 'openai-chat',
    base_url: `${openai.origin}/v1`,
    api_key: openai.key,
    models: gpt(2.5, 10),
    weight: 2,
  })
  await made(at, {
    preset: 'anthropic',
    base_url: anthropic.origin,
    api_key: anthropic.key,
    priority: 1,
    models: [{ id: 'claude-opus-5-5', pricing: { input: 5, output: 25, cache_read: 0.5 }, context_length: 200_000 }],
  })
  const shop = await made('/workspaces', { name: 'Print shop', spend_cap_usd: 2, spend_cap_period: 'month' })
  const gateway = ['gateway:run', 'model:read']
  const laptop = await aki.key({
    name: 'Laptop, Claude Code',
    scopes: gateway,
    spend_cap_usd: 25,
    spend_cap_period: 'month',
  })
  await aki.key({ name: 'Read-only dashboard', scopes: ['usage:read', 'gateway:read', 'model:read'] })
  const night = await aki.key({
    name: 'Nightly translation',
    scopes: gateway,
    workspace_id: shop.id,
    spend_cap_usd: 0.05,
    spend_cap_period: 'day',
  })
  const ben = await server.person('Ben Ito')
  const invited = await made(`/workspaces/${shop.id}/invitations`, { email: ben.email })
  await ben.post('/invitations/accept', { token: invited.token })
  await ben.key({ name: 'Ben’s till', scopes: gateway, workspace_id: shop.id })
  const site = await aki.key({ name: 'Shop assistant', scopes: gateway, workspace_id: shop.id })
  const old = await aki.key({ name: 'Old laptop' })
  await aki.delete(`/api-keys/${old.keyId}`)
  const asks = [
    [laptop, openai, 'openai/gpt-4o', 1_200_000, 240_000],
    [laptop, anthropic, 'anthropic/claude-opus-5-5', 900_000, 60_000],
    [night, openai, 'house/gpt-4o', 9_000, 1_900],
    [site, openai, 'house/gpt-4o', 52_000, 12_000],
  ] as const
  let requestId = ''
  for (const [key, vendor, model, input, output] of asks) {
    vendor.script({ reply: 'Thirty-six views of it.', usage: { input, output } })
    const answer = await key.post(vendor === anthropic ? '/compat-b/v1/messages' : '/compat-a/v1/chat/completions', {
      model,
      max_tokens: key === night ? 2_000 : 20_000,
      messages: [{ role: 'user', content: 'How many views of the mountain?' }],
    })
    if (answer.status !== 200) throw new Error(`${model}: ${answer.status} ${answer.text}`)
    requestId = answer.headers.get('x-request-id')!
  }
  const written = await made('/chats', { workspace_id: shop.id, title: 'Views of the mountain', model: 'house/gpt-4o' })
  openai.script({ reply: 'From the lake, at dawn, in red.', usage: { input: 900, output: 120 } })
  await made(`/chats/${written.id}/messages`, { content: 'Which view sells best?' })
  const passing = await made('/chats', { workspace_id: shop.id, temporary: true, model: 'house/gpt-4o' })
  openai.script({ reply: '```mermaid\ngraph LR\n  A[Keyblock] --> B[Blue]\n```', usage: { input: 900, output: 40 } })
  await made(`/chats/${passing.id}/messages`, { content: 'In which order are the blocks printed?' })
  const agent = await made('/agents', {
    workspace_id: shop.id,
    name: 'Clerk',
    model: 'sim/echo',
    description: 'Counts what was sold, and keeps the books of the shop.',
    system_prompt: 'You keep the books of a print shop.\n\nCount first, then say what to print next.',
    tools: [{ name: 'drive.grep', policy: 'allow' }],
  })
  await aki.patch(`/agents/${agent.id}`, {
    system_prompt: 'You keep the books of a print shop.\n\nCount first. Say what to print next, and why.',
    tools: [
      { name: 'drive.grep', policy: 'allow' },
      { name: 'drive.content', policy: 'allow' },
      { name: 'computers.exec', policy: 'ask' },
    ],
  })
  const automation = await made('/automations', {
    workspace_id: shop.id,
    name: 'Morning report',
    kind: 'cron',
    schedule: '0 7 * * 1-5',
    time_zone: 'Asia/Tokyo',
    action: { type: 'agent', agent_id: agent.id, prompt: 'Count what was sold yesterday, and say what to print next.' },
    max_cost_usd: 0.5,
  })
  const events = ['run.failed', 'file.*']
  const hook = { workspace_id: aki.workspaceId, name: 'Till of the shop', url: 'https://till.example.com/hook', events }
  const webhook = await made('/webhook-endpoints', hook)
  await made(`/webhook-endpoints/${webhook.id}/test`, {})
  const fired = await made(`/automations/${automation.id}/test-fire`, {})
  const asked = [{ role: 'user', content: 'How many views are there?' }]
  const operation = await made('/inference/text', { model: 'sim/echo', messages: asked, background: true })
  const theirs = await ben.post('/chats', { workspace_id: ben.workspaceId, title: 'Paper from Echizen' })
  await ben.post('/shares', {
    resource_type: 'chat',
    resource_id: theirs.body.data.id,
    grantee: { user_id: aki.id },
  })
  const computer = await pairedComputer(aki, { name: 'Print room', allows: ['terminal', 'inference'] })
  const woodblocks = await made('/drive/files/folders', { workspace_id: aki.workspaceId, name: 'Woodblocks' })
  await made('/drive/files/folders', { parent_id: woodblocks.id, name: 'Keyblocks' })
  const notes = await made('/drive/files', {
    parent_id: woodblocks.id,
    name: 'order of printing.md',
    content: '# Order of printing\n\n1. the keyblock\n2. the blue of the sea\n',
  })
  await aki.patch(`/drive/files/${notes.id}`, {
    content:
      '# Order of printing\n\n1. the keyblock\n2. the sky, graded by hand\n3. the blue of the sea\n\n| block | wood |\n|---|---|\n| key | cherry |\n| sea | cherry |\n',
  })
  const price = 'export const price = (sheets: number): number => sheets * 12.5 // yen, by the sheet\n'
  await made('/drive/files', { parent_id: woodblocks.id, name: 'price.ts', content: price })
  await made('/drive/files', { parent_id: woodblocks.id, name: 'sold.csv', content: 'view,sold\nlake,36\nsea,12\n' })
  const draft = await made('/drive/files', { parent_id: woodblocks.id, name: 'draft.txt', content: 'nothing yet\n' })
  await aki.delete(`/drive/files/${draft.id}`)
  const running = stack.move()
  return {
    aki,
    chatId: written.id,
    temporaryId: passing.id,
    automationId: automation.id,
    computerId: computer.id,
    webhookId: webhook.id,
    requestId,
    automationRunId: fired.id,
    agentId: agent.id,
    operationId: operation.id,
    folderId: woodblocks.id,
    fileId: notes.id,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
