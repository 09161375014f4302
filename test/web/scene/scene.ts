import { pairedComputer } from '../../makers.ts'
import type { Person, TestServer } from '../../server.ts'
import { startAnthropic } from '../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../vendors/openai/openai.ts'

/** Settings that allow providers on this machine. */
export const environment = { UK_UPSTREAM_ALLOW: '127.0.0.0/8', UK_SIM: 'on' }

type Vendor = Awaited<ReturnType<typeof startOpenAI>>

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

/** Creates something as a person; throws if the server rejects it. */
type Create = (path: string, body: object) => Promise<any>

const creator =
  (person: Person): Create =>
  async (path, body) => {
    const answer = await person.post(path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.body.data
  }

/** Seeds an account with history: providers, keys of two workspaces, and paid calls. */
export async function furnish(server: TestServer): Promise<AsyncDisposable & Scene> {
  await using stack = new AsyncDisposableStack()
  const openai = stack.use(await startOpenAI())
  const anthropic = stack.use(await startAnthropic())
  const aki = await server.person('Aki Hayashi')
  const create = creator(aki)
  await addProviders(create, openai, anthropic)
  const shop = await create('/workspaces', { name: 'Print shop', spend_cap_usd: 2, spend_cap_period: 'month' })
  const ben = await server.person('Ben Ito')
  const keys = await addKeys(aki, ben, create, shop.id)
  const requestId = await makeCalls(keys, openai, anthropic)
  const chats = await addChats(create, openai, shop.id)
  const agentId = await addAgent(aki, create, shop.id)
  const automation = await addAutomation(create, shop.id, agentId)
  const webhookId = await addWebhook(aki, create)
  const messages = [{ role: 'user', content: 'How many views are there?' }]
  const operation = await create('/inference/text', { model: 'sim/echo', messages, background: true })
  await shareChat(ben, aki)
  const computer = await pairedComputer(aki, { name: 'Print room', allows: ['terminal', 'inference'] })
  const drive = await fillDrive(aki, create)
  const running = stack.move()
  return {
    aki,
    ...chats,
    ...automation,
    computerId: computer.id,
    webhookId,
    requestId,
    agentId,
    operationId: operation.id,
    ...drive,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

async function addProviders(create: Create, openai: Vendor, anthropic: Vendor): Promise<void> {
  const at = '/ai-gateway/provider-endpoints'
  const gpt = (input: number, output: number) => [{ id: 'gpt-4o', pricing: { input, output }, context_length: 128_000 }]
  await create(at, { preset: 'openai', base_url: `${openai.origin}/v1`, api_key: openai.key, models: gpt(2.5, 10) })
  await create(at, {
    name: 'OpenAI of the house',
    slug: 'house',
    shape: 'openai-chat',
    base_url: `${openai.origin}/v1`,
    api_key: openai.key,
    models: gpt(2.5, 10),
    instance: true,
  })
  await create(at, {
    name: 'OpenAI, second account',
    slug: 'openai-2',
    shape: 'openai-chat',
    base_url: `${openai.origin}/v1`,
    api_key: openai.key,
    models: gpt(2.5, 10),
    weight: 2,
  })
  await create(at, {
    preset: 'anthropic',
    base_url: anthropic.origin,
    api_key: anthropic.key,
    priority: 1,
    models: [{ id: 'claude-opus-5-5', pricing: { input: 5, output: 25, cache_read: 0.5 }, context_length: 200_000 }],
  })
}

async function addKeys(aki: Person, ben: Person, create: Create, shopId: string) {
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
    workspace_id: shopId,
    spend_cap_usd: 0.05,
    spend_cap_period: 'day',
  })
  const invited = await create(`/workspaces/${shopId}/invitations`, { email: ben.email })
  await ben.post('/invitations/accept', { token: invited.token })
  await ben.key({ name: 'Ben’s till', scopes: gateway, workspace_id: shopId })
  const site = await aki.key({ name: 'Shop assistant', scopes: gateway, workspace_id: shopId })
  const old = await aki.key({ name: 'Old laptop' })
  await aki.delete(`/api-keys/${old.keyId}`)
  return { laptop, night, site }
}

/** Makes paid calls with these keys. Returns the ID of the last request. */
async function makeCalls(
  { laptop, night, site }: Awaited<ReturnType<typeof addKeys>>,
  openai: Vendor,
  anthropic: Vendor,
): Promise<string> {
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
  return requestId
}

async function addChats(create: Create, openai: Vendor, shopId: string) {
  const written = await create('/chats', {
    workspace_id: shopId,
    title: 'Views of the mountain',
    model: 'house/gpt-4o',
  })
  openai.script({ reply: 'From the lake, at dawn, in red.', usage: { input: 900, output: 120 } })
  await create(`/chats/${written.id}/messages`, { content: 'Which view sells best?' })
  const passing = await create('/chats', { workspace_id: shopId, temporary: true, model: 'house/gpt-4o' })
  openai.script({ reply: '```mermaid\ngraph LR\n  A[Keyblock] --> B[Blue]\n```', usage: { input: 900, output: 40 } })
  await create(`/chats/${passing.id}/messages`, { content: 'In which order are the blocks printed?' })
  return { chatId: written.id as string, temporaryId: passing.id as string }
}

async function addAgent(aki: Person, create: Create, shopId: string): Promise<string> {
  const agent = await create('/agents', {
    workspace_id: shopId,
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
  return agent.id
}

async function addAutomation(create: Create, shopId: string, agentId: string) {
  const automation = await create('/automations', {
    workspace_id: shopId,
    name: 'Morning report',
    kind: 'cron',
    schedule: '0 7 * * 1-5',
    time_zone: 'Asia/Tokyo',
    action: { type: 'agent', agent_id: agentId, prompt: 'Count what was sold yesterday, and say what to print next.' },
    max_cost_usd: 0.5,
  })
  const run = await create(`/automations/${automation.id}/test-fire`, {})
  return { automationId: automation.id as string, automationRunId: run.id as string }
}

async function addWebhook(aki: Person, create: Create): Promise<string> {
  const events = ['run.failed', 'file.*']
  const hook = { workspace_id: aki.workspaceId, name: 'Till of the shop', url: 'https://till.example.com/hook', events }
  const webhook = await create('/webhook-endpoints', hook)
  await create(`/webhook-endpoints/${webhook.id}/test`, {})
  return webhook.id
}

async function shareChat(ben: Person, aki: Person): Promise<void> {
  const chat = await ben.post('/chats', { workspace_id: ben.workspaceId, title: 'Paper from Echizen' })
  await ben.post('/shares', {
    resource_type: 'chat',
    resource_id: chat.body.data.id,
    grantee: { user_id: aki.id },
  })
}

async function fillDrive(aki: Person, create: Create) {
  const woodblocks = await create('/drive/files/folders', { workspace_id: aki.workspaceId, name: 'Woodblocks' })
  await create('/drive/files/folders', { parent_id: woodblocks.id, name: 'Keyblocks' })
  const notes = await create('/drive/files', {
    parent_id: woodblocks.id,
    name: 'order of printing.md',
    content: '# Order of printing\n\n1. the keyblock\n2. the blue of the sea\n',
  })
  await aki.patch(`/drive/files/${notes.id}`, {
    content:
      '# Order of printing\n\n1. the keyblock\n2. the sky, graded by hand\n3. the blue of the sea\n\n| block | wood |\n|---|---|\n| key | cherry |\n| sea | cherry |\n',
  })
  const price = 'export const price = (sheets: number): number => sheets * 12.5 // yen, by the sheet\n'
  await create('/drive/files', { parent_id: woodblocks.id, name: 'price.ts', content: price })
  await create('/drive/files', { parent_id: woodblocks.id, name: 'sold.csv', content: 'view,sold\nlake,36\nsea,12\n' })
  const draft = await create('/drive/files', { parent_id: woodblocks.id, name: 'draft.txt', content: 'nothing yet\n' })
  await aki.delete(`/drive/files/${draft.id}`)
  return { folderId: woodblocks.id as string, fileId: notes.id as string }
}
