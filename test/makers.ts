import type { Answer, Caller, Person } from './server.ts'

type Maker = Caller & Pick<Person, 'workspaceId'>

/** Creates one resource per kind in a workspace (default: personal) and returns its ID, for the derived tests. */
export const makers: Record<string, (person: Maker, workspaceId?: string) => Promise<string>> = {
  workspace: (person) => create(person, '/workspaces', { name: 'Team' }),
  agent: (person, workspace_id = person.workspaceId) => create(person, '/agents', { name: 'Helper', workspace_id }),
  chat: (person, workspace_id = person.workspaceId) => create(person, '/chats', { title: 'Talk', workspace_id }),
  file: (person, workspace_id = person.workspaceId) =>
    create(person, '/drive/files', { workspace_id, name: `${Math.random()}.txt`, content: 'hello' }),
  automation: async (person, workspace_id = person.workspaceId) =>
    create(person, '/automations', {
      workspace_id,
      name: 'Report',
      kind: 'webhook',
      action: { type: 'agent', agent_id: await makers.agent!(person, workspace_id), prompt: 'Report.' },
    }),
  computer_pairing: (person, workspace_id) => create(person, '/computer-pairings', { workspace_id }),
  computer: async (person, workspace_id) => (await pairedComputer(person, { workspace_id })).id,
  async upload(person, workspaceId = person.workspaceId) {
    const about = `workspace_id ${Buffer.from(workspaceId).toString('base64')}`
    const answer = await person.post('/drive/uploads', undefined, {
      'tus-resumable': '1.0.0',
      'upload-length': '9',
      'upload-metadata': about,
    })
    return answer.headers.get('location')!.split('/').at(-1)!
  },
  operation: (person, workspace_id = person.workspaceId) =>
    create(person, '/inference/text', {
      workspace_id,
      model: 'sim/echo',
      messages: [{ role: 'user', content: 'hello' }],
      background: true,
    }),
  notification: (person) => create(person, '/notifications', { title: 'Hello' }),
  push_subscription: (person) =>
    create(person, '/notifications/push-subscriptions', {
      endpoint: `https://push.example.com/${Math.random()}`,
      keys: values.keys,
    }),
  webhook_endpoint: (person, workspace_id = person.workspaceId) =>
    create(person, '/webhook-endpoints', {
      workspace_id,
      name: 'Ours',
      url: 'https://hooks.example.com/x',
      events: ['*'],
    }),
  provider_endpoint: (person, workspace_id) =>
    create(person, '/ai-gateway/provider-endpoints', {
      workspace_id,
      name: 'Mine',
      slug: `mine-${Math.random().toString(36).slice(2, 8)}`,
      shape: 'openai-chat',
      base_url: 'https://api.example.com/v1',
      api_key: 'sk-0123456789',
      test: false,
    }),
}

/** Values for fields that need more than a default guess. */
export const values: Record<string, unknown> = {
  kind: 'webhook',
  schedule: '0 9 * * 1-5',
  email: 'somebody@example.com',
  model: 'sim/echo',
  messages: [{ role: 'user', content: 'hello' }],
  content: 'hello',
  role: 'viewer',
  confirm: 'Team',
  resource_type: 'agent',
  status: 'read',
  path: '/tmp/nothing-is-here',
  port: '5173',
  url: 'https://hooks.example.com/x',
  events: ['*'],
  capabilities: ['exec'],
  actions: [{ id: 'call_1', decision: 'deny' }],
  endpoint: 'https://push.example.com/somebody',
  keys: {
    p256dh: 'BNEfxv4sJnUKPuSPkAxi9aabpzfDDXAwmLQCnpntOOXR_nnfwQskZtLbpHc7rrwyNOsG7LGWHCH5eRaa1nF4ikI',
    auth: 'A'.repeat(22),
  },
  preferences: [{ type: 'message', channel: 'email', enabled: true }],
}

/** A paired machine that has never connected. */
export async function pairedComputer(
  person: Caller,
  { allows, ...pairing }: { workspace_id?: string | undefined; name?: string; allows?: readonly string[] } = {},
): Promise<{ id: string; credential: string }> {
  const { body } = await person.post('/computer-pairings', pairing)
  const pair = async (): Promise<Answer> => {
    const answer = await person.post('/computers/pair', {
      token: body.data.token,
      os: 'linux',
      arch: 'x64',
      hostname: 'box',
      daemon_version: '1.0.0',
      protocol: 1,
      ...(allows && { allows }),
    })
    // Many concurrent pairings on a slow machine may exceed the wait for a database connection.
    return answer.status === 429 ? pair() : answer
  }
  const answer = await pair()
  if (answer.status !== 201) throw new Error(`POST /computers/pair: ${answer.status} ${answer.text}`)
  return { id: answer.body.data.computer.id, credential: answer.body.data.credential }
}

export async function teamOf(owner: Person, people: readonly (readonly [Person, string])[]): Promise<string> {
  const { id } = (await owner.post('/workspaces', { name: 'Team' })).body.data
  for (const [person, role] of people) {
    const { token } = (await owner.post(`/workspaces/${id}/invitations`, { email: person.email, role })).body.data
    const answer = await person.post('/invitations/accept', { token })
    if (answer.status !== 200) throw new Error(`${person.name}: ${answer.text}`)
  }
  return id
}

async function create(person: Caller, path: string, body: object): Promise<string> {
  const answer = await person.post(path, body)
  if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`)
  return answer.body.data.id
}
