import { curl, objectOf, quoted, typescript } from '#interfaces/docs/examples/code.ts'
import { requestOf } from '#interfaces/docs/browser/try-it.js'
import type { Example } from '../../ui/snippet.tsx'
import type { FilledRequest } from './draft.ts'
import type { Operation } from './operations.ts'

export function snippetsOf(operation: Operation, call: FilledRequest, origin: string): Example[] {
  const { method, auth, filePart, answersBytes, streams, command, call: name } = operation
  const [url] = requestOf({ ...call, file: null })
  const has = call.json !== undefined && Object.keys(call.json).length > 0
  const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
  const streamed = streams && (call.json === undefined || call.json['stream'] !== false)
  const raw = {
    method,
    url: `${origin}${url}`,
    credentials: auth === 'session' ? ('session' as const) : auth === 'none' ? ('none' as const) : ('key' as const),
    guarded: method !== 'GET' && auth === 'session',
    body:
      filePart === ''
        ? { kind: 'bytes' as const, type: 'application/octet-stream' }
        : filePart !== null
          ? {
              kind: 'form' as const,
              file: filePart,
              fields: Object.fromEntries(Object.entries(call.json ?? {}).map(([k, v]) => [k, text(v)])),
            }
          : has
            ? { kind: 'json' as const, value: call.json! }
            : { kind: 'none' as const },
    answer: streamed ? ('events' as const) : answersBytes ? ('bytes' as const) : ('json' as const),
  }
  const input = { ...call.params, ...Object.fromEntries(call.query), ...call.json }
  return [
    { name: 'curl', code: curl(raw) },
    {
      name: 'TypeScript',
      code: name === null ? typescript(raw) : byClient(name, input, origin, { streamed, filePart, answersBytes }),
    },
    ...(command === null ? [] : [{ name: 'uk', code: byCommand(command, input, filePart) }]),
  ]
}

function byClient(
  name: string,
  input: Record<string, unknown>,
  origin: string,
  { streamed, filePart, answersBytes }: { streamed: boolean; filePart: string | null; answersBytes: boolean },
): string {
  const argument = Object.keys(input).length > 0 ? objectOf(input, 0) : ''
  const withFile = `{ ${argument === '' ? '' : `...${argument}, `}file: await openAsBlob('hello.txt') }`
  const call = `uk.${name}(${filePart === null ? argument : withFile})`
  return [
    ...(filePart === null ? [] : ["import { openAsBlob } from 'node:fs'"]),
    "import { createClient } from '@ukiyo-platform/client'",
    '',
    `const uk = createClient({ origin: '${origin}', key: process.env.UK_KEY })`,
    ...(streamed
      ? [`for await (const event of ${call}) console.log(event)`]
      : [
          `const answer = await ${call}`,
          answersBytes ? 'console.log((await answer.bytes()).length)' : 'console.log(answer)',
        ]),
  ].join('\n')
}

const flagOf = (name: string): string =>
  name.replaceAll('_', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

function byCommand(command: string, input: Record<string, unknown>, filePart: string | null): string {
  const words = Object.entries(input).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `--${flagOf(name)} ${/^[\w./:@-]+$/.test(text) ? text : quoted(text)}`
  })
  const all = [command, ...words, ...(filePart === null ? [] : ['--file hello.txt'])]
  const line = all.join(' ')
  return line.length > 90 ? all.join(' \\\n  ') : line
}
