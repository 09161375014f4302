import type { Person } from './server.ts'

/** How to make one of each kind that a path can name, for the derived tests. Answers its id. */
export const makers: Record<string, (person: Person) => Promise<string>> = {
  workspace: (person) => made(person, '/workspaces', { name: 'Team' }),
  agent: (person) => made(person, '/agents', { name: 'Helper' }),
  chat: (person) => made(person, '/chats', { title: 'Talk' }),
  file: (person) =>
    made(person, '/drive/files', { workspace_id: person.workspaceId, name: `${Math.random()}.txt`, content: 'hello' }),
  automation: async (person) =>
    made(person, '/automations', {
      name: 'Report',
      kind: 'webhook',
      action: { type: 'agent', agent_id: await makers.agent!(person), prompt: 'Report.' },
    }),
  async upload(person) {
    const about = `workspace_id ${Buffer.from(person.workspaceId).toString('base64')}`
    const answer = await person.post('/drive/uploads', undefined, {
      'tus-resumable': '1.0.0',
      'upload-length': '9',
      'upload-metadata': about,
    })
    return answer.headers.get('location')!.split('/').at(-1)!
  },
  operation: (person) =>
    made(person, '/inference/text', {
      model: 'sim/echo',
      messages: [{ role: 'user', content: 'hello' }],
      background: true,
    }),
  notification: (person) => made(person, '/notifications', { title: 'Hello' }),
  push_subscription: (person) =>
    made(person, '/notifications/push-subscriptions', {
      endpoint: `https://push.example.com/${Math.random()}`,
      keys: values.keys,
    }),
  webhook_endpoint: (person) =>
    made(person, '/webhook-endpoints', { name: 'Ours', url: 'https://hooks.example.com/x', events: ['*'] }),
  provider_endpoint: (person) =>
    made(person, '/ai-gateway/provider-endpoints', {
      name: 'Mine',
      slug: `mine-${Math.random().toString(36).slice(2, 8)}`,
      shape: 'openai-chat',
      base_url: 'https://api.example.com/v1',
      api_key: 'sk-0123456789',
    }),
}

/** Values for fields whose schema takes more than a guess. */
export const values: Record<string, unknown> = {
  email: 'somebody@example.com',
  model: 'sim/echo',
  messages: [{ role: 'user', content: 'hello' }],
  content: 'hello',
  role: 'viewer',
  confirm: 'Team',
  resource_type: 'agent',
  status: 'read',
  url: 'https://hooks.example.com/x',
  events: ['*'],
  actions: [{ id: 'call_1', decision: 'deny' }],
  endpoint: 'https://push.example.com/somebody',
  keys: {
    p256dh: 'BNEfxv4sJnUKPuSPkAxi9aabpzfDDXAwmLQCnpntOOXR_nnfwQskZtLbpHc7rrwyNOsG7LGWHCH5eRaa1nF4ikI',
    auth: 'A'.repeat(22),
  },
  preferences: [{ type: 'message', channel: 'email', enabled: true }],
}

async function made(person: Person, path: string, body: object): Promise<string> {
  const answer = await person.post(path, body)
  if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`)
  return answer.body.data.id
}
