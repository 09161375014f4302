import type { ExampleCall } from './call.ts'

/** The call in Python, using only the standard library. */
export function python({ method, url, credentials, guarded, body, answer }: ExampleCall): string {
  const headers = [
    credentials === 'key' && `"Authorization": f"Bearer {os.environ['UK_KEY']}"`,
    credentials === 'session' && `"Cookie": f"uk_session={os.environ['UK_SESSION']}"`,
    guarded && '"X-UK-CSRF": "1"',
    body.kind === 'json' && '"Content-Type": "application/json"',
    body.kind === 'form' && '"Content-Type": f"multipart/form-data; boundary={boundary}"',
    body.kind === 'bytes' && `"Content-Type": ${JSON.stringify(body.type)}`,
  ].filter(Boolean)
  const options = [
    JSON.stringify(url),
    method !== 'GET' && `method="${method}"`,
    headers.length > 0 && `headers={${headers.join(', ')}}`,
    body.kind === 'json' && `data=json.dumps(${valueOf(body.value, 4)}).encode()`,
    body.kind === 'form' && 'data=form',
    body.kind === 'bytes' && 'data=open("hello.txt", "rb").read()',
  ].filter(Boolean)
  const usesJson = body.kind === 'json' || answer === 'json'
  const modules = [usesJson && 'json', credentials !== 'none' && 'os', answer === 'bytes' && 'shutil', 'urllib.request']
  const reading = {
    json: ['    print(json.load(response))'],
    events: ['    for line in response:', '        print(line.decode(), end="")'],
    bytes: ['    with open("file", "wb") as file:', '        shutil.copyfileobj(response, file)'],
    nothing: ['    print(response.status)'],
  }[answer]
  return [
    `import ${modules.filter(Boolean).join(', ')}`,
    '',
    ...(body.kind === 'form' ? formOf(body.fields, body.file) : []),
    'request = urllib.request.Request(',
    ...options.map((line) => `    ${String(line)},`),
    ')',
    'with urllib.request.urlopen(request) as response:',
    ...reading,
  ].join('\n')
}

/** The standard library has no multipart support, so the parts are written by hand. */
const formOf = (fields: Record<string, string>, file: string): string[] => [
  'boundary = "part-of-a-form"',
  `fields = ${valueOf(fields, 0)}`,
  'form = b"".join(',
  '    f\'--{boundary}\\r\\nContent-Disposition: form-data; name="{name}"\\r\\n\\r\\n{value}\\r\\n\'.encode()',
  '    for name, value in fields.items()',
  ')',
  `form += f'--{boundary}\\r\\nContent-Disposition: form-data; name="${file}"; filename="hello.txt"\\r\\n\\r\\n'.encode()`,
  'form += open("hello.txt", "rb").read() + f"\\r\\n--{boundary}--\\r\\n".encode()',
  '',
]

function valueOf(value: unknown, depth: number): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const parts = Array.isArray(value)
    ? value.map((one) => valueOf(one, depth + 4))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${valueOf(one, depth + 4)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const short = `${open}${parts.join(', ')}${close}`
  if (short.length + depth < 90 && !short.includes('\n')) return short
  const indent = ' '.repeat(depth)
  return `${open}\n${parts.map((part) => `${indent}    ${part},`).join('\n')}\n${indent}${close}`
}
