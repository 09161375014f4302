import type { Bytes } from '#kernel/answers.ts'
import type { Mount } from '#kernel/exchange.ts'
import { allowCors } from '../cors.ts'
import { sendBytes } from './send-bytes.ts'

/** Addresses that carry their own right to be read, or are everybody's. `open` refuses, or answers the bytes. */
export const bytesMount = (
  prefix: string,
  open: (method: string, url: string, host: string | undefined) => Promise<Bytes>,
): Mount => ({
  prefix,
  async handle(request, response) {
    allowCors(request, response)
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    await sendBytes(request, response, await open(request.method!, request.url!, request.headers.host), gone.signal)
  },
})
