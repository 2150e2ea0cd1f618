/**
 * How word problems are told: questions with {name}, {thing} and the numbers {a}, {b} and {c} left open, by
 * kind of calculation and part. In words that only training sees, words that only choosing sees, words that
 * only the report sees. A question names its numbers in the order in which the calculation takes the first
 * two; every number is two or more, so that every noun is a plural.
 */

import type { Split } from "../../src/data/split.ts";

/** The kinds of calculation, two steps each. */
export type KindName = "add, subtract" | "multiply, add" | "subtract, divide" | "add, multiply";

/** Questions of a kind by part. */
export type Wordings = Readonly<Record<Split, readonly string[]>>;

export const wordings: Readonly<Record<KindName, Wordings>> = {
  "add, subtract": {
    train: [
      "{name} has {a} {thing}, gets {b} more and gives away {c}. How many {thing} does {name} have now?",
      "There are {a} {thing} in a box. {name} puts {b} more in and takes {c} out. How many {thing} are in the box then?",
      "{name} finds {a} {thing} on Monday and {b} on Tuesday, and loses {c} on Wednesday. How many {thing} are left?",
      "A shop has {a} {thing}. A truck brings {b} more, and {name} buys {c}. How many {thing} does the shop still have?",
      "{name} had {a} {thing} and bought {b} more, but {c} of them got lost. How many {thing} does {name} still have?",
      "{a} {thing} lie on the table and {b} on the floor. {name} takes {c} of them away. How many {thing} remain?",
      "Grandma gives {name} {a} {thing} and an uncle gives {b}. {name} hands {c} to a sister. How many {thing} does {name} keep?",
      "{name} starts a game with {a} {thing}, wins {b} and then loses {c}. How many {thing} does {name} end with?",
      "There are {a} people on a bus. At the station {b} get on and {c} get off. How many people are on the bus now?",
      "{name} saved {a} dollars last month and {b} dollars this month, then spent {c} dollars. How many dollars are left?",
    ],
    validation: [
      "A shelf holds {a} {thing}. {name} adds {b}, but {c} fall down. How many {thing} stay on the shelf?",
      "{name} gathered {a} {thing} in the morning and {b} in the afternoon, and sold {c}. How many {thing} does {name} have in the evening?",
      "{a} children were in the park. Then {b} more came, and later {c} went home. How many children were still there?",
    ],
    test: [
      "{name} collected {a} {thing} in May and {b} in June, but in July {c} were stolen. What is left of the {thing}?",
      "A basket with {a} {thing} stands in the kitchen. {name} fills in {b} more and uses up {c}. How many {thing} does the basket hold?",
      "{name} owns {a} {thing}. A friend sends {b} as a present, and {name} passes {c} on. How many {thing} does {name} own now?",
    ],
  },
  "multiply, add": {
    train: [
      "{name} packs {a} bags with {b} {thing} in each, and {c} {thing} do not fit in. How many {thing} are there?",
      "{name} buys {a} {thing} for {b} dollars each and has {c} dollars left. How many dollars did {name} have at first?",
      "There are {a} boxes with {b} {thing} in every box, and {c} more {thing} beside them. How many {thing} are there in all?",
      "{name} gives {a} {thing} to each of {b} friends and keeps {c}. How many {thing} did {name} have at the start?",
      "A garden has {a} rows of {b} plants and {c} plants by the gate. How many plants are in the garden?",
      "{name} reads {a} pages a day for {b} days, and {c} pages on the day after. How many pages did {name} read?",
      "Each of {a} tables has {b} {thing} on it. {c} more {thing} are in a cupboard. How many {thing} is that together?",
      "{name} fills {a} jars with {b} {thing} each and has {c} {thing} left over. How many {thing} were there?",
      "A ticket costs {a} dollars. {name} buys {b} tickets and a drink for {c} dollars. How many dollars does {name} pay?",
      "{name} works {a} hours a day for {b} days, and {c} hours on Saturday. How many hours does {name} work?",
    ],
    validation: [
      "On every one of {a} plates {name} puts {b} {thing}; {c} more stay in the bag. How many {thing} does {name} have?",
      "A train has {a} cars with {b} seats each, and {c} seats in the dining car. How many seats does the train have?",
      "{name} makes {a} necklaces with {b} {thing} on each and has {c} {thing} to spare. How many {thing} were there at first?",
    ],
    test: [
      "A garland has {a} strings with {b} {thing} on each, and {c} more {thing} hang at its end. Count the {thing}.",
      "{name} sells {a} {thing} at {b} dollars each and gets a tip of {c} dollars. How many dollars does {name} earn?",
      "In a hall stand {a} rows of {b} chairs, and {c} chairs stand by the wall. How many chairs are in the hall?",
    ],
  },
  "subtract, divide": {
    train: [
      "{name} has {a} {thing}, loses {b} and shares the others equally among {c} friends. How many {thing} does each friend get?",
      "Of {a} {thing}, {b} are bad. {name} puts the good ones into {c} boxes, the same number in each. How many {thing} are in a box?",
      "{name} has {a} dollars and spends {b} dollars. The rest buys {thing} for {c} dollars each. How many {thing} can {name} buy?",
      "A teacher brings {a} {thing} and keeps {b}. The others go to {c} groups in equal parts. How many {thing} does a group get?",
      "{name} picks {a} {thing} and gives {b} to a neighbor. The rest fill {c} bags evenly. How many {thing} are in each bag?",
      "There are {a} {thing} on a tray. {name} takes {b}, and {c} children divide what is left fairly. How many {thing} does each child have?",
      "A book has {a} pages. {name} has read {b} and wants to finish it in {c} days. How many pages a day is that?",
      "{a} people want to cross a river. {b} of them swim, and the others sit in {c} boats, as many in each. How many people sit in a boat?",
      "{name} has {a} {thing}. After selling {b}, {name} lays the remaining ones in {c} equal rows. How many {thing} are in a row?",
      "A rope is {a} meters long. {name} cuts off {b} meters and cuts the rest into {c} equal pieces. How many meters long is a piece?",
    ],
    validation: [
      "From a heap of {a} {thing} {name} keeps {b}, and {c} cousins split the rest equally. What is a cousin's share of the {thing}?",
      "{name} baked {a} rolls and ate {b}. The remaining rolls are put on {c} plates evenly. How many rolls are on a plate?",
      "A class of {a} pupils goes on a trip, but {b} are ill. The others form {c} equal teams. How many pupils are in a team?",
    ],
    test: [
      "{a} {thing} came by mail, and {name} sent {b} back. The remaining ones fill {c} drawers evenly. How many {thing} does a drawer hold?",
      "Out of {a} {thing} {name} throws {b} away and packs the others into {c} equal parcels. How many {thing} are in a parcel?",
      "{name} had {a} dollars and paid {b} dollars for lunch. What remains is for {c} days, the same for every day. How many dollars is that a day?",
    ],
  },
  "add, multiply": {
    train: [
      "{name} walks {a} km every morning and {b} km every evening. How many km is that in {c} days?",
      "Every week {name} sells {a} {thing} on Monday and {b} on Friday. How many {thing} does {name} sell in {c} weeks?",
      "A bag holds {a} red and {b} blue {thing}. How many {thing} are in {c} such bags?",
      "{name} puts {a} big and {b} small {thing} into each box. How many {thing} are in {c} boxes?",
      "A meal costs {a} dollars and a drink costs {b} dollars. {name} buys both for {c} people. How many dollars does {name} pay?",
      "Each child gets {a} {thing} from {name} and {b} from a neighbor. How many {thing} do {c} children get?",
      "Every day {name} plays {a} songs before lunch and {b} songs after lunch. How many songs is that in {c} days?",
      "A team has {a} girls and {b} boys. How many children are in {c} such teams?",
      "On every page of a book {name} glues {a} old and {b} new {thing}. How many {thing} are on {c} pages?",
      "A room has {a} chairs and {b} stools. How many people can sit in {c} rooms like that?",
    ],
    validation: [
      "A gift from {name} holds {a} white and {b} green {thing}. How many {thing} are needed for {c} gifts?",
      "{name} drinks {a} glasses of water at home and {b} glasses at work each day. How many glasses does {name} drink in {c} days?",
      "A notebook costs {a} dollars and a ruler costs {b} dollars. How many dollars do {c} pupils pay who need both?",
    ],
    test: [
      "Each crate carries {a} large and {b} tiny {thing}. {name} unloads {c} crates; how many {thing} is that?",
      "{name} runs {a} laps before breakfast and {b} laps after it, every day. How many laps does {name} run in {c} days?",
      "A tram has {a} seats in front and {b} seats at the back. How many seats do {c} trams have?",
    ],
  },
};
