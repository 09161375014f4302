import type { HasEndpoints, HasVoices } from '#modules/ai-gateway/service.ts'
import type { MediaGateway } from '#gateway/media/gateway.ts'

/** The handles that see a call of media to its end. */
export interface HasMediaGateway extends HasVoices, HasEndpoints {
  mediaGateway: MediaGateway
}
