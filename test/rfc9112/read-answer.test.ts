import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NotAnAnswer, UNFINISHED, readAnswer } from './read-answer.ts'

const read = (text: string, method = 'GET', ended = false) => readAnswer(Buffer.from(text, 'latin1'), method, ended)
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

test('the reader accepts what RFC 9112 allows and finds the end', () => {
  const whole: [text: string, method: string, status: number, body: string][] = [
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 'GET', 200, 'ok'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n', 'HEAD', 200, ''],
    ['HTTP/1.1 204 No Content\r\n\r\n', 'OPTIONS', 204, ''],
    ['HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n', 'GET', 304, ''],
    [`${chunked}2\r\nok\r\n3;a=b\r\n yes\r\n0\r\n\r\n`.replace('3;', '4;'), 'GET', 200, 'ok yes'],
    ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n', 'POST', 201, ''],
  ]
  for (const [text, method, status, body] of whole) {
    for (let cut = 1; cut < text.length; cut++) assert.equal(read(text.slice(0, cut), method), UNFINISHED, text)
    const { answer, length } = read(`${text}HTTP/1.1`, method) as Exclude<ReturnType<typeof read>, string>
    assert.deepEqual([answer.status, answer.body.toString(), length], [status, body, text.length])
  }
})

test('the reader rejects what RFC 9112 forbids', () => {
  const faults = [
    '0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
    '\r\nHTTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.0 200 OK\r\n\r\n',
    'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nx-folded: a\r\n b\r\n\r\n',
    'HTTP/1.1 200 OK\r\nno name : a\r\n\r\n',
    'HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n',
    `${chunked}2\r\nlong\r\n0\r\n\r\n`,
    `${chunked}2\r\nok\r\nHTTP/1.1 200 OK\r\n\r\n`,
    `${chunked}0\r\n0\r\n\r\n`,
  ]
  for (const text of faults) assert.throws(() => read(text), NotAnAnswer, text)
  const cut = [`${chunked}2\r\nok\r\n`, 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok', 'HTTP/1.1 200 OK\r\n']
  for (const text of cut) assert.throws(() => read(text, 'GET', true), NotAnAnswer, text)
  assert.throws(() => read('HTTP/1.1 200 OK\r\n\r\nok', 'GET', true), /does not say so/)
})
