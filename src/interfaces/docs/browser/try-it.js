/**
 * A call that a person tries, from the docs or from the app: the request as `fetch` takes it, and its answer as it comes.
 * It goes by the cookie of who is signed in, or by a key.
 */

/** @type {import('./try-it.d.ts').requestOf} */
export function requestOf({
  method,
  path,
  params = {},
  query = [],
  json,
  file = null,
  part = 'file',
  key = null,
  greedy = false,
}) {
  const headers = key === null ? { 'x-uk-csrf': '1' } : { authorization: `Bearer ${String(key)}` }
  const target = path.replace(/:(\w+)/g, (_, name) => {
    const words = encodeURIComponent((params[name] ?? '').trim())
    return greedy ? words.replaceAll('%2F', '/') : words
  })
  const asked = new URLSearchParams(query).toString()
  const url = `${target}${asked === '' ? '' : `?${asked}`}`
  const options = { method, headers, credentials: key === null ? 'same-origin' : 'omit' }
  if (file !== null && part === '') return [url, { ...options, body: file }]
  if (file !== null) {
    const form = new FormData()
    for (const [name, value] of Object.entries(json ?? {}))
      form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
    form.append(part, file)
    return [url, { ...options, body: form }]
  }
  if (json === undefined) return [url, options]
  headers['content-type'] = 'application/json'
  return [url, { ...options, body: JSON.stringify(json) }]
}

export const MAX_SHOWN = 100_000

/** @type {import('./try-it.d.ts').readAnswer} */
export async function readAnswer(response, isBytes, write) {
  const type = response.headers.get('content-type') ?? ''
  if (type.includes('json')) return write(JSON.stringify(await response.json(), null, 2).slice(0, MAX_SHOWN))
  if (response.ok && isBytes) return write(`${(await response.blob()).size} bytes of ${type}`)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let shown = ''
  for (let next = await reader?.read(); next && !next.done; next = await reader.read()) {
    shown += next.value
    write(shown.slice(0, MAX_SHOWN))
    if (shown.length > MAX_SHOWN) return void (await reader.cancel())
  }
}
