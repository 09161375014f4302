import { killedIn } from './cloud-kills.ts'

killedIn()
