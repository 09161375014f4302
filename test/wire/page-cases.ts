import { type Asked, json } from './asked.ts'

/** Cases beside REST and the gateway: pages, probes, signed bytes (`signed`: addresses of one file), the agent tool. */
export function pageCases(key: Record<string, string>, signed: readonly string[]): Asked[] {
  const pages = ['/', '/docs', '/docs/', '/docs/chats', '/docs/style.css', '/docs/nope', '/v1/openapi.json', '/app']
  const more = [
    '/app/chats',
    '/app/assets/nope.js',
    '/healthz',
    '/healthz/x',
    '/readyz',
    '/metrics',
    '/nowhere',
    '/f/x',
  ]
  const ranges = ['bytes=0-1', 'bytes=1-', 'bytes=-1', 'bytes=0-0,2-3', 'bytes=99999999-', 'nonsense']
  const everyWay = [...pages, ...more].flatMap((target): Asked[] =>
    ['GET', 'HEAD', 'POST', 'OPTIONS', 'PATCH', 'DELETE'].map((method) => ({ method, target })),
  )
  const files = signed.flatMap((target): Asked[] => [
    { method: 'GET', target, status: 200 },
    { method: 'HEAD', target, status: 200 },
    { method: 'POST', target },
    { method: 'GET', target: `${target}x` },
    ...ranges.flatMap((range): Asked[] => [
      { method: 'GET', target, headers: { range } },
      { method: 'HEAD', target, headers: { range } },
    ]),
  ])
  return [...everyWay, ...files, ...mcpCases(key)]
}

function mcpCases(key: Record<string, string>): Asked[] {
  const accept = { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...key }
  const post = (body: object, more: Partial<Asked> = {}): Asked => ({
    method: 'POST',
    target: '/mcp',
    headers: accept,
    ...json(body),
    ...more,
  })
  const call = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'walk', version: '1' } }
  return [
    ...['GET', 'HEAD', 'PATCH', 'DELETE'].map((method): Asked => ({
      method,
      target: '/mcp',
      headers: accept,
      status: 405,
    })),
    { method: 'OPTIONS', target: '/mcp', status: 204 },
    post({}, { headers: {}, status: 401 }),
    post({}, { headers: { ...accept, host: 'evil.example' }, status: 421 }),
    post({}, { headers: { ...accept, origin: 'https://evil.example' }, status: 403 }),
    post(call('initialize', hello), { status: 200 }),
    post(call('tools/list'), { status: 200 }),
    post(call('tools/call', { name: 'read', arguments: { path: '/me' } })),
    post(call('nothing')),
    post({ jsonrpc: '2.0', method: 'notifications/initialized' }, { status: 202 }),
    post([call('tools/list')], { status: 400 }),
    post({}, { body: '{"a":' }),
    post({}, { body: 'x'.repeat(2 << 20), status: 413 }),
    post(call('tools/list'), { headers: { ...accept, expect: '100-continue' }, status: 200 }),
    post(call('tools/list'), { chunked: true, status: 200 }),
  ]
}
