/** What one ordinary account can do at its worst: each attack prepares itself, and its act is then repeated by several callers. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from './account.ts'

export interface Attack {
  name: string
  /** How many callers repeat it at the same time. */
  abreast: number
  /** Returns what each of them repeats. */
  prepare(account: Account, outside: string): Promise<() => Promise<unknown>>
}

const query = (pairs: [string, string][]): string => new URLSearchParams(pairs).toString()

async function upload(account: Account, at: Record<string, string>, name: string, content: string): Promise<any> {
  const form = new FormData()
  for (const [field, value] of Object.entries(at)) form.append(field, value)
  form.append('file', new Blob([content]), name)
  return account.call('POST', '/v1/drive/files', form)
}

const globs: Attack = {
  name: 'greps with 15 exclusion globs over a path of 125 folders',
  abreast: 4,
  async prepare(account) {
    let at: Record<string, string> = { workspace_id: account.workspaceId }
    for (let n = 0; n < 125; n++) {
      const { id } = await account.make('/v1/drive/files/folders', { name: `a${n}`, ...at })
      at = { parent_id: id as string }
    }
    await upload(account, at, 'tea.txt', 'tea\n')
    const words: [string, string][] = Array.from({ length: 15 }, (_, n) => ['glob', `!${'**/'.repeat(30)}*a*/b${n}`])
    return () => account.call('GET', `/v1/drive/grep?${query([['pattern', 'tea'], ...words])}`)
  },
}

const patterns: Attack = {
  name: 'greps with a pattern of 990 repetitions over files of 4 MB',
  abreast: 6,
  async prepare(account) {
    const text = `${'ab'.repeat(50)}\n`.repeat(40_000)
    for (let n = 0; n < 3; n++) await upload(account, { workspace_id: account.workspaceId }, `long${n}.txt`, text)
    return () => account.call('GET', `/v1/drive/grep?${query([['pattern', '(?:a|b)*a(?:a|b){990}c']])}`)
  },
}

const messages: Attack = {
  name: 'calls with 330,000 short messages',
  abreast: 3,
  async prepare(account) {
    const message = '{"role":"user","content":"a"}'
    const body = `{"model":"sim/echo","messages":[${Array.from({ length: 330_000 }, () => message).join()}]}`
    return () => account.call('POST', '/compat-a/v1/chat/completions', body)
  },
}

const bodies: Attack = {
  name: '80 connections that send 31 of 32 MiB and wait',
  abreast: 80,
  async prepare({ origin, head }) {
    const { port, host } = new URL(origin)
    const piece = Buffer.alloc(1 << 20, ' ')
    return async () => {
      const socket = connect(Number(port), '127.0.0.1')
      try {
        await once(socket, 'connect')
        socket.on('error', () => {})
        const over = once(socket, 'close')
        socket.resume()
        socket.write(
          `POST /compat-a/v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\n${head}content-type: application/json\r\ncontent-length: ${32 << 20}\r\n\r\n`,
        )
        for (let n = 0; n < 31 && !socket.destroyed; n++)
          if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), over, sleep(5_000)])
        await Promise.race([over, sleep(5_000)])
      } finally {
        socket.destroy()
      }
    }
  },
}

const schemas: Attack = {
  name: 'agents with an outside tool whose schema has 5.7 MB',
  abreast: 4,
  async prepare(account, outside) {
    const { id } = await account.make('/v1/agents', {
      name: 'Worker',
      model: 'sim/echo',
      workspace_id: account.workspaceId,
      mcp_servers: [{ name: 'large', url: `${outside}/mcp/${randomUUID()}`, policy: 'allow' }],
    })
    return async () => {
      // Each change of the agent has its tools listed again.
      await account.call('PATCH', `/v1/agents/${id}`, {
        mcp_servers: [{ name: 'large', url: `${outside}/mcp/${randomUUID()}`, policy: 'allow' }],
      })
      const chat = await account.call('POST', '/v1/chats', { agent_id: id })
      return account.call('POST', `/v1/chats/${chat.data.id}/messages`, { content: 'hello' })
    }
  },
}

/** Of an own provider that answers with what the attacker likes. */
const provider = (account: Account, outside: string): Promise<any> =>
  account.make('/v1/ai-gateway/provider-endpoints', {
    workspace_id: account.workspaceId,
    name: 'Own',
    slug: `own-${randomUUID().slice(0, 8)}`,
    shape: 'openai-chat',
    base_url: `${outside}/v1`,
    api_key: 'sk-0123456789',
    models: [{ id: 'calls' }, { id: 'nothing' }],
    test: false,
  })

const stream =
  (name: string, model: string): Attack['prepare'] =>
  async (account, outside) => {
    const { slug } = await provider(account, outside)
    return () =>
      account.call('POST', '/compat-a/v1/responses', { model: `${slug}/${model}`, input: name, stream: true })
  }

const calls: Attack = {
  name: 'answers of 80,000 tool calls, read as responses',
  abreast: 3,
  prepare: stream('Call all of them.', 'calls'),
}

const deltas: Attack = {
  name: 'answers of 400,000 empty deltas, read as responses',
  abreast: 3,
  prepare: stream('Say nothing.', 'nothing'),
}

const names: Attack = {
  name: 'uploads of one name with on_conflict=rename',
  abreast: 30,
  async prepare(account) {
    return () => upload(account, { workspace_id: account.workspaceId, on_conflict: 'rename' }, 'same.txt', 'same')
  },
}

const lists: Attack = {
  name: 'lists, searches and exports of 10 chats with 2 MB of messages each',
  abreast: 40,
  async prepare(account) {
    const ids: string[] = []
    for (let n = 0; n < 10; n++) {
      const { id } = await account.make('/v1/chats', {
        title: `Chat ${n}`,
        model: 'sim/echo',
        workspace_id: account.workspaceId,
      })
      ids.push(id as string)
      for (let message = 0; message < 4; message++)
        await account.call('POST', `/v1/chats/${id}/messages`, { content: 'ukiyo-'.repeat(40_000) })
    }
    let turn = 0
    const ways = [
      () => `/v1/chats/${ids[turn % ids.length]!}/messages?limit=100`,
      () => `/v1/chats/${ids[turn % ids.length]!}/export?format=html`,
      () => '/v1/search?q=ukiyo&limit=100',
      () => '/v1/search?q=u&limit=100',
    ]
    return () => account.call('GET', ways[turn++ % ways.length]!())
  },
}

export const attacks: readonly Attack[] = [globs, patterns, messages, bodies, schemas, calls, deltas, names, lists]
