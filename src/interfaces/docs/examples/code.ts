import type { ExampleCall } from './call.ts'

export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

export function curl({ method, url, credentials, guarded, body, answer }: ExampleCall): string {
  const options = [
    credentials === 'key' && '-H "Authorization: Bearer $UK_KEY"',
    credentials === 'session' && '-b "uk_session=$UK_SESSION"',
    guarded && "-H 'X-UK-CSRF: 1'",
    body.kind === 'json' && "-H 'Content-Type: application/json'",
    body.kind === 'json' && `-d ${quoted(JSON.stringify(body.value, null, 2))}`,
    ...(body.kind === 'form' ? Object.entries(body.fields).map(([k, v]) => `-F ${quoted(`${k}=${v}`)}`) : []),
    body.kind === 'form' && `-F ${body.file}=@hello.txt`,
    body.kind === 'bytes' && `-H 'Content-Type: ${body.type}'`,
    body.kind === 'bytes' && '--data-binary @hello.txt',
    answer === 'bytes' && '-o file',
  ]
  // curl defaults to POST with a body.
  const sends = body.kind !== 'none'
  const verb = method === (sends ? 'POST' : 'GET') ? '' : ` -X ${method}`
  const program = `curl${answer === 'events' ? ' -N' : ''}${answer === 'bytes' ? ' -L' : ''}${verb}`
  return [`${program} ${/[?&*]/.test(url) ? quoted(url) : url}`, ...options].filter(Boolean).join(' \\\n  ')
}

const literal = (text: string): string => `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\'`)}'`

export function typescript({ method, url, credentials, guarded, body, answer }: ExampleCall): string {
  const headers = [
    credentials === 'key' && 'Authorization: `Bearer ${process.env.UK_KEY}`',
    credentials === 'session' && 'Cookie: `uk_session=${process.env.UK_SESSION}`',
    guarded && "'X-UK-CSRF': '1'",
    body.kind === 'json' && "'Content-Type': 'application/json'",
    body.kind === 'bytes' && `'Content-Type': ${literal(body.type)}`,
  ].filter(Boolean)
  const options = [
    method !== 'GET' && `method: '${method}',`,
    headers.length > 0 && `headers: { ${headers.join(', ')} },`,
    body.kind === 'json' && `body: JSON.stringify(${objectOf(body.value, 2)}),`,
    body.kind === 'form' && 'body: form,',
    body.kind === 'bytes' && "body: await openAsBlob('hello.txt'),",
  ].filter(Boolean)
  const imports = [
    (body.kind === 'form' || body.kind === 'bytes') && "import { openAsBlob } from 'node:fs'",
    answer === 'bytes' && "import { writeFile } from 'node:fs/promises'",
  ].filter(Boolean)
  const form =
    body.kind === 'form'
      ? [
          'const form = new FormData()',
          ...Object.entries(body.fields).map(([k, v]) => `form.append(${literal(k)}, ${literal(v)})`),
          `form.append('${body.file}', await openAsBlob('hello.txt'), 'hello.txt')`,
          '',
        ]
      : []
  const reading = {
    json: ['console.log(await response.json())'],
    events: [
      'for await (const text of response.body!.pipeThrough(new TextDecoderStream())) process.stdout.write(text)',
    ],
    bytes: ["await writeFile('file', await response.bytes())"],
    nothing: [],
  }[answer]
  const given = options.length > 0 ? `, {\n${options.map((line) => `  ${String(line)}`).join('\n')}\n}` : ''
  return [
    ...imports,
    ...(imports.length > 0 ? [''] : []),
    ...form,
    `const response = await fetch(${literal(url)}${given})`,
    'if (!response.ok) throw new Error(await response.text())',
    ...reading,
  ].join('\n')
}

/** A JavaScript literal: unquoted names, single-quoted text. */
export function objectOf(value: unknown, depth: number): string {
  if (typeof value === 'string') return literal(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const parts = Array.isArray(value)
    ? value.map((one) => objectOf(one, depth + 2))
    : Object.entries(value).map(
        ([name, one]) => `${/^[A-Za-z_]\w*$/.test(name) ? name : literal(name)}: ${objectOf(one, depth + 2)}`,
      )
  const [open, close] = Array.isArray(value) ? '[]' : ['{ ', ' }']
  const short = `${open}${parts.join(', ')}${close}`
  if (parts.length === 0) return Array.isArray(value) ? '[]' : '{}'
  if (short.length + depth < 90 && !short.includes('\n')) return short
  const indent = ' '.repeat(depth)
  return `${open!.trim()}\n${parts.map((part) => `${indent}  ${part},`).join('\n')}\n${indent}${close!.trim()}`
}
