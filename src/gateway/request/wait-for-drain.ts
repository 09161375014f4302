import type { GatewayRequest } from './request.ts'

export const waitForDrain = (response: GatewayRequest['response']): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go)
      response.off('close', go)
      resolve()
    }
    response.on('drain', go)
    response.on('close', go)
  })
