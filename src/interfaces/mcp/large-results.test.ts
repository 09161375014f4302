/** Large results are written in pieces, and reach the client unchanged on each wire. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { notesService } from '#test/mcp/notes.ts'
import { testServer } from '#test/server.ts'
import { PIECE } from '#core/json/json-pieces.ts'
import { LargeResults } from './large-results.ts'
import { toolResult } from './tools/tools.ts'

const wires: Record<string, { headers: Record<string, string>; meta?: Record<string, unknown> }> = {
  '2025-11-25': { headers: { 'mcp-protocol-version': '2025-11-25' } },
  '2025-11-25 with progress': { headers: { 'mcp-protocol-version': '2025-11-25' }, meta: { progressToken: 'p' } },
  '2026-07-28': {
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'do' },
    meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}

test('a large result is the same as REST’s on each wire, as data and as text', async () => {
  await using server = await testServer({ services: [notesService().service] })
  const alice = await server.person('Alice')
  const key = await alice.key()
  const texts = ['"\\\n\u2028', '茶 ', '😀', 'plain '].map((unit) => unit.repeat(Math.ceil(200_000 / unit.length)))
  for (const text of texts) assert.equal((await key.post('/notes', { text })).status, 201)
  const rest = await key.get('/notes')
  assert.ok(rest.text.length > 2 * PIECE)
  const { request_id: _, ...expected } = rest.body
  for (const [wire, { headers, meta }] of Object.entries(wires)) {
    const params = { name: 'do', arguments: { name: 'notes.list', input: {} }, ...(meta && { _meta: meta }) }
    const { status, text } = await key.post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      { accept: 'application/json, text/event-stream', ...headers },
    )
    assert.equal(status, 200, wire)
    const message = text.startsWith('{') ? text : text.slice(text.lastIndexOf('data: ') + 6)
    const { result } = JSON.parse(message) as { result: ReturnType<typeof toolResult> }
    assert.deepEqual(result.structuredContent, expected, wire)
    const [content] = result.content
    assert.ok(content?.type === 'text')
    assert.deepEqual(JSON.parse(content.text), expected, wire)
  }
})

test('no piece is much larger than a piece of REST, and all of them are the message', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ text: fc.string({ unit: 'grapheme' }), times: fc.integer({ min: 1, max: 400_000 }) }), {
        maxLength: 4,
      }),
      (rows) => {
        const data = rows.map(({ text, times }) => ({ text: text.repeat(Math.ceil(times / (text.length || 1))) }))
        const result = toolResult({ data })
        const large = new LargeResults()
        const message = JSON.stringify({ jsonrpc: '2.0', id: 'a"b', result: large.replace(result) })
        const pieces = [...large.pieces(message)]
        assert.equal(pieces.join(''), JSON.stringify({ jsonrpc: '2.0', id: 'a"b', result }))
        // Escapes are written twice, and take up to six characters each.
        assert.ok(pieces.every((piece) => piece.length <= 14 * PIECE))
      },
    ),
    { numRuns: 30 },
  )
})
