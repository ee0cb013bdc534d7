import { detailOf, summaryOf, titleOf } from '../words.js';
import { jsonPayload, type Message, type Payload } from './message.js';

const HEADER_MAX_CHARS = 150;
const SECTION_MAX_CHARS = 3000;

/** An incoming webhook of Slack: a text for notifications, and blocks. */
export function slackPayload({ alert, instance }: Message): Payload {
  const { fact, status } = alert;
  const word = status === 'firing' ? fact.severity.toUpperCase() : 'RESOLVED';
  const title = `[${word}] ${titleOf(alert)}`;
  const detail = status === 'firing' ? detailOf(fact) : '';
  const lines = [
    escapeText(summaryOf(alert)),
    ...(detail === '' ? [] : [`*Detail:* ${escapeText(detail)}`]),
    `*From:* ${escapeText(instance)}`,
  ];
  return jsonPayload({
    text: escapeText(title),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title.slice(0, HEADER_MAX_CHARS) } },
      { type: 'section', text: { type: 'mrkdwn', text: lines.join('\n').slice(0, SECTION_MAX_CHARS) } },
    ],
  });
}

/** The three characters that Slack reads as markup for links and mentions. */
function escapeText(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}
