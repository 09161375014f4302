import type { MediaGateway } from '#gateway/media/gateway.ts'

/** The handle that sees a call of media to its end. */
export interface HasMediaGateway {
  mediaGateway: MediaGateway
}
