/** Requests of clients: a system text, turns with code, quotes and other scripts, tools, their calls and results. */

const tools = [
  {
    type: 'function',
    function: {
      name: 'read_file',
      description: 'Reads a file of the workspace.\nAnswers at most 2,000 lines; use `offset` for the rest.',
      parameters: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Relative, such as "src/main.ts"' },
          offset: { type: 'integer' },
        },
        required: ['path'],
        additionalProperties: false,
      },
    },
  },
]

const system =
  'You are a careful engineer. Answer in the language of the question — briefly.\n\n- Never guess a "path".\n- Quote what you read.'

/** One round of a conversation with a tool, the nth; about 1.1 KB. */
const round = (n: number): object[] => [
  {
    role: 'user',
    content: `Why does step ${n} fail on Müller's machine? It says:\n\n\tError: expected "value" at C:\\work\\step-${n}.json\n\n東京 works, Kraków does not…`,
  },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: `call_${n}`,
        type: 'function',
        function: { name: 'read_file', arguments: `{"path":"steps/step-${n}.json","offset":${n}}` },
      },
    ],
  },
  {
    role: 'tool',
    tool_call_id: `call_${n}`,
    content: JSON.stringify({
      lines: [`{ "name": "step ${n}",`, '  "separator": "\\t",', '  "cities": ["東京", "Kraków", "São Paulo"] }'],
      encoding: 'utf-8',
    }),
  },
  {
    role: 'assistant',
    content: `The separator is a tab (\`"\\t"\`), and the reader of step ${n} splits at spaces:\n\n\`\`\`ts\nconst [city] = line.split(' ')\n\`\`\`\n\nSplit at \`'\\t'\` instead — “Kraków” then stays whole.`,
  },
]

/** A request of exactly `bytes` bytes: as many rounds as fit, and a last question that fills up to the length. */
export function conversation(bytes: number, more: object = {}): string {
  const asking = (rounds: number, last: string): string =>
    JSON.stringify({
      model: 'openai/gpt-4o-mini',
      messages: [
        { role: 'system', content: system },
        ...Array.from({ length: rounds }, (_, n) => round(n)).flat(),
        { role: 'user', content: last },
      ],
      tools,
      temperature: 0.2,
      ...more,
    })
  const size = (rounds: number): number => Buffer.byteLength(asking(rounds, ''))
  let rounds = 0
  while (size(rounds + 1) <= bytes) rounds += 1
  const missing = bytes - size(rounds)
  if (missing < 0) throw new Error(`a conversation has at least ${size(0)} bytes`)
  return asking(rounds, 'And what else? '.repeat(Math.ceil(missing / 15)).slice(0, missing))
}
