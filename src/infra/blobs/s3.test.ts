import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { fromBufferPromise } from 'yauzl'
import { upload } from '#test/drive/drive.ts'
import { testServer } from '#test/server.ts'
import { type S3Server, signatureOf, startS3 } from '#test/vendors/s3/s3.ts'
import { becomes, PATIENCE_MS, until } from '#test/until.ts'
import { openBlobs } from './open.ts'
import { sweepBlobs } from './sweep.ts'

const environmentOf = (s3: S3Server) => ({
  UK_BLOBS: `s3://${s3.bucket}/ukiyo/blobs`,
  UK_S3_ENDPOINT: s3.origin,
  AWS_ACCESS_KEY_ID: s3.accessKeyId,
  AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  AWS_REGION: s3.region,
})
const configOf = (environment: Record<string, string>) => ({
  blobs: environment.UK_BLOBS!,
  s3Endpoint: environment.UK_S3_ENDPOINT ?? null,
  dataDir: '/nowhere',
  environment,
})

test('the test server’s signature matches AWS’s published example', () => {
  // “Example: GET Object” from the page named in test/vendors/s3/s3.md.
  const signature = signatureOf({
    method: 'GET',
    url: '/test.txt',
    headers: {
      host: 'examplebucket.s3.amazonaws.com',
      range: 'bytes=0-9',
      'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'x-amz-date': '20130524T000000Z',
    },
    signedHeaders: ['host', 'range', 'x-amz-content-sha256', 'x-amz-date'],
    payloadHash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    date: '20130524T000000Z',
    region: 'us-east-1',
    secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  })
  assert.equal(signature, 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41')
})

test('a bucket stores files in parts, serves ranges, stores equal content once, and is swept', async () => {
  await using s3 = await startS3()
  await using server = await testServer({ environment: environmentOf(s3) })
  const alice = await server.person('Alice')
  const bytes = randomBytes(18_000_000)
  const put = (bytes: Buffer, name: string) => upload(alice, { workspace_id: alice.workspaceId }, bytes, name)
  const uploadReply = await put(bytes, 'big.bin')
  assert.equal(uploadReply.status, 201, uploadReply.text)
  const { id, sha256 } = uploadReply.body.data
  assert.equal(sha256, createHash('sha256').update(bytes).digest('hex'))
  assert.deepEqual(
    [...s3.objects.values()].map((object) => object.bytes.equals(bytes)),
    [true],
  )
  const response = await fetch(`${server.origin}/v1/drive/files/${id}`, { headers: alice.headers })
  assert.ok(Buffer.from(await response.arrayBuffer()).equals(bytes))
  const part = await fetch(`${server.origin}/v1/drive/files/${id}`, {
    headers: { ...alice.headers, range: 'bytes=16777210-16777219' },
  })
  assert.equal(part.status, 206)
  assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(16_777_210, 16_777_220)))
  await put(bytes, 'again.bin')
  const empty = await put(Buffer.alloc(0), 'empty')
  assert.equal((await alice.get(`/drive/files/${empty.body.data.id}`)).text, '')
  assert.equal((await alice.get(`/drive/files/${empty.body.data.id}/content`)).body.data.total_lines, 0)
  assert.equal(s3.objects.size, 2)

  const controller = new AbortController()
  const form = new FormData()
  form.append('workspace_id', alice.workspaceId)
  form.append('file', new Blob([bytes]), 'cut.bin')
  const sending = fetch(`${server.origin}/v1/drive/files`, {
    method: 'POST',
    headers: alice.headers,
    body: form,
    signal: controller.signal,
  })
  await until(
    async () => s3.uploads.size,
    (size) => size > 0,
  )
  controller.abort()
  await sending.catch(() => {})
  // The canceled upload leaves no parts.
  await becomes(() => s3.uploads.size, 0)

  s3.uploads.set('lost', { key: 'ukiyo/blobs/lost', parts: new Map(), at: new Date(0) })
  s3.objects.set('ukiyo/blobs/stray', { bytes: Buffer.from('x'), at: new Date(0) })
  s3.objects.set('other/thing', { bytes: Buffer.from('x'), at: new Date(0) })
  await alice.delete(`/drive/files/${empty.body.data.id}`)
  await alice.delete(`/drive/files/${empty.body.data.id}/permanent-delete`)
  const swept = await sweepBlobs(server.app.engine, { graceMinutes: 0, strayMinutes: 60 })
  assert.deepEqual(swept, { unreferenced: 1, stray: 2 })
  assert.deepEqual([s3.uploads.size, s3.objects.size, s3.objects.has('other/thing')], [0, 2, true])
  assert.deepEqual(
    s3.refused.filter((why) => !why.startsWith('InvalidRange GET')),
    [],
    'every request was signed right',
  )
  s3.fail(1, 503)
  assert.equal((await put(Buffer.from('tried again'), 'c')).status, 201, 'what S3 asks to try again is tried again')
})

test('a file in a bucket can be resumed, read by lines, searched, packed and copied', async () => {
  await using s3 = await startS3()
  await using server = await testServer({ environment: environmentOf(s3) })
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const words = Buffer.from(`${'tea leaves\n'.repeat(2_000)}a kettle\n`)
  const tus = { 'tus-resumable': '1.0.0' }
  const [workspace, name] = [alice.workspaceId, 'tea.txt'].map((text) => Buffer.from(text).toString('base64'))
  const uploadResponse = await alice.post('/drive/uploads', undefined, {
    ...tus,
    'upload-length': String(words.length),
    'upload-metadata': `workspace_id ${workspace},filename ${name}`,
  })
  const at = new URL(uploadResponse.headers.get('location')!).pathname
  const bytes = { ...tus, 'content-type': 'application/offset+octet-stream' }
  await alice.request('PATCH', at, words.subarray(0, 9_000), { ...bytes, 'upload-offset': '0' })
  const last = await fetch(`${twin.origin}${at}`, {
    method: 'PATCH',
    headers: { ...alice.headers, ...bytes, 'upload-offset': '9000' },
    body: words.subarray(9_000),
  })
  assert.equal(last.status, 204, await last.text())
  const id = last.headers.get('x-uk-file-id')!
  assert.equal(s3.objects.size, 1, 'no part is left')

  const top = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: 'Pantry' })).body.data
  assert.equal((await alice.post(`/drive/files/${id}/move`, { parent_id: top.id })).status, 200)
  const tail = (await alice.get(`/drive/files/${id}/content?tail=1`)).body.data
  assert.deepEqual([tail.lines[0].text, tail.total_lines], ['a kettle', 2_001])
  const [row] = (await alice.get('/drive/grep?pattern=a%20k.ttle&before=1')).body.data
  assert.deepEqual([row.line, row.before], [2_001, ['tea leaves']])
  let results = await alice.get('/search?q=kettle')
  for (const until = Date.now() + PATIENCE_MS; results.body.data.length === 0 && Date.now() < until;)
    results = await alice.get('/search?q=kettle')
  assert.deepEqual([results.body.data[0]?.id, results.body.data[0]?.snippet.includes('a kettle')], [id, true])
  const copyResponse = await alice.post(`/drive/files/${top.id}/copy`, {
    workspace_id: alice.workspaceId,
    name: 'Again',
  })
  assert.equal(copyResponse.status, 201, copyResponse.text)
  assert.equal(s3.objects.size, 1, 'once per content')
  const archive = await fetch(`${server.origin}/v1/drive/files/${top.id}/archive`, { headers: alice.headers })
  const zip = await fromBufferPromise(Buffer.from(await archive.arrayBuffer()))
  const sizes: Record<string, number> = {}
  for await (const entry of zip.eachEntry()) sizes[entry.fileName] = entry.uncompressedSize
  assert.deepEqual(sizes, { 'Pantry/tea.txt': words.length })
})

test('a wrong secret or unknown bucket stops the server’s start with a specific error', async () => {
  await using s3 = await startS3()
  const right = environmentOf(s3)
  await assert.rejects(
    openBlobs(configOf({ ...right, AWS_SECRET_ACCESS_KEY: 'wrong' })),
    /UK_BLOBS: the bucket ukiyo-test can’t be used: ./,
  )
  assert.match(s3.refused[0]!, /SignatureDoesNotMatch/)
  await assert.rejects(openBlobs(configOf({ ...right, UK_BLOBS: 's3://another' })), /the bucket another can’t be used/)
  await using blobs = await openBlobs(configOf(right))
  await assert.rejects(Array.fromAsync(blobs.read('nothing')), /missing in the store/)
})

test('with AWS, every part has a checksum, and reads are verified', async () => {
  await using s3 = await startS3()
  const { UK_S3_ENDPOINT: endpoint, ...environment } = environmentOf(s3)
  process.env.AWS_ENDPOINT_URL_S3 = endpoint
  try {
    await using blobs = await openBlobs(configOf(environment))
    const bytes = randomBytes(17 << 20)
    for (const some of [bytes, bytes.subarray(0, 100)]) {
      const stagedBlob = await blobs.stage(Readable.from([some]))
      const parts = await Array.fromAsync(blobs.read(await stagedBlob.keep()))
      assert.ok(Buffer.concat(parts).equals(some))
    }
    assert.ok(s3.summed() >= 3, `${s3.summed()} checksums came`)
    assert.deepEqual(s3.refused, [])
  } finally {
    delete process.env.AWS_ENDPOINT_URL_S3
  }
})

test('the S3 test server refuses requests that don’t match their signature', async () => {
  await using s3 = await startS3()
  const stamp = (ago: number): string => new Date(Date.now() - ago).toISOString().replace(/[-:]|\.\d+/g, '')
  const put = async (
    change: {
      path?: string
      body?: string
      ago?: number
      secret?: string
      region?: string
      key?: string
      unsigned?: Record<string, string>
      payloadHash?: string
    } = {},
  ): Promise<string> => {
    const body = 'the body'
    const date = stamp(change.ago ?? 0)
    const payloadHash = change.payloadHash ?? createHash('sha256').update(body).digest('hex')
    const headers = { host: new URL(s3.origin).host, 'x-amz-content-sha256': payloadHash, 'x-amz-date': date }
    const signedHeaders = Object.keys(headers).sort()
    const region = change.region ?? s3.region
    const signature = signatureOf({
      method: 'PUT',
      url: `/${s3.bucket}/a%20b?x-id=PutObject`,
      headers,
      signedHeaders,
      payloadHash,
      date,
      region,
      secret: change.secret ?? s3.secretAccessKey,
    })
    const scope = `${change.key ?? s3.accessKeyId}/${date.slice(0, 8)}/${region}/s3/aws4_request`
    const answer = await fetch(`${s3.origin}${change.path ?? `/${s3.bucket}/a%20b?x-id=PutObject`}`, {
      method: 'PUT',
      headers: {
        ...headers,
        ...change.unsigned,
        authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=${signedHeaders.join(';')}, Signature=${signature}`,
      },
      body: change.body ?? body,
    })
    return /<Code>(.*)<\/Code>/.exec(await answer.text())?.[1] ?? String(answer.status)
  }
  const quarter = 15 * 60_000
  assert.equal(await put(), '200')
  assert.equal(await put({ ago: quarter - 20_000 }), '200')
  const rejections: [Parameters<typeof put>[0], string][] = [
    [{ ago: quarter + 20_000 }, 'RequestTimeTooSkewed'],
    [{ ago: -quarter - 20_000 }, 'RequestTimeTooSkewed'],
    [{ secret: 'another' }, 'SignatureDoesNotMatch'],
    [{ path: `/${s3.bucket}/a%20c?x-id=PutObject` }, 'SignatureDoesNotMatch'],
    [{ path: `/${s3.bucket}/a%20b?x-id=Other` }, 'SignatureDoesNotMatch'],
    [{ body: 'not that body' }, 'XAmzContentSHA256Mismatch'],
    [{ payloadHash: 'UNSIGNED-PAYLOAD' }, 'XAmzContentSHA256Mismatch'],
    [{ payloadHash: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' }, 'XAmzContentSHA256Mismatch'],
    [{ unsigned: { 'x-amz-acl': 'public-read' } }, 'AccessDenied'],
    [{ unsigned: { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' } }, 'BadDigest'],
    [{ region: 'us-east-1' }, 'AccessDenied'],
    [{ key: 'AKOTHER' }, 'InvalidAccessKeyId'],
  ]
  for (const [change, code] of rejections) assert.equal(await put(change), code, JSON.stringify(change))
  assert.deepEqual([...s3.objects.keys()], ['a b'])
})
