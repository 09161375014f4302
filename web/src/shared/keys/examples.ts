import type { Scope } from '../../../../src/core/scopes.ts'
import type { Example } from '../../ui/snippet.tsx'

interface ExampleOptions {
  origin: string
  key: string
  /** Null: no model is available yet. */
  model: string | null
  may: ReadonlySet<Scope>
}

/** Code examples that run unchanged, with this key on this server. */
export function examplesFor({ origin, key, model, may }: ExampleOptions): Example[] {
  const me: Example = { name: 'REST', code: `curl ${origin}/v1/me \\\n  -H "Authorization: Bearer ${key}"` }
  if (!may.has('gateway:run')) return [me]
  const name = model ?? 'provider/model'
  return [
    {
      name: 'curl',
      code: `curl ${origin}/compat-a/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${name}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      name: 'OpenAI SDK',
      code: `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${origin}/compat-a/v1',
  apiKey: '${key}',
})
const answer = await client.chat.completions.create({
  model: '${name}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.choices[0].message.content)`,
    },
    {
      name: 'Anthropic SDK',
      code: `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: '${origin}/compat-b',
  apiKey: '${key}',
})
const message = await client.messages.create({
  model: '${name}',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(message.content)`,
    },
    {
      name: 'Claude Code',
      code: `export ANTHROPIC_BASE_URL=${origin}/compat-b
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${name}
claude`,
    },
    {
      name: 'Cursor',
      code: `Cursor Settings › Models › API keys
  OpenAI API key            ${key}
  Override OpenAI base URL  ${origin}/compat-a/v1
  Add a custom model        ${name}

Cursor sends requests from its own servers, so this address must be reachable from the internet.`,
    },
    me,
  ]
}
