// Written by tools/zones.py from version 2026f of the IANA database; not by hand.
// clang-format off
#include "schedule/zone_table.h"

namespace etcdop::schedule {
namespace {

constexpr ZoneChange kChanges1[] = {
    {29453760, 60}, {29518680, 0}, {29569080, 60}, {29831100, 0},
};

constexpr ZoneChange kChanges2[] = {
    {29453760, -420}, {29549340, -360},
};

constexpr ZoneChange kChanges3[] = {
    {29453760, -300}, {29549100, -240}, {30426060, -300},
};

constexpr ZoneChange kChanges4[] = {
    {29453760, -360}, {29549280, -300},
};

constexpr ZoneChange kChanges5[] = {
    {29453760, -480}, {29549400, -420},
};

constexpr ZoneChange kChanges6[] = {
    {29453760, 120}, {29577600, 180}, {29879940, 120}, {30101760, 180}, {30414180, 120},
    {30625920, 180}, {30938340, 120}, {31150080, 180}, {31462500, 120}, {31684320, 180},
    {31986660, 120}, {32208480, 180}, {32510820, 120}, {32732640, 180}, {33045060, 120},
    {33256800, 180}, {33569220, 120}, {33780960, 180}, {34093380, 120}, {34305120, 180},
    {34617540, 120}, {34839360, 180}, {35131620, 120}, {35363520, 180}, {35645700, 120},
    {35887680, 180}, {36149700, 120}, {36411840, 180}, {36663780, 120}, {36936000, 180},
    {37167780, 120}, {37238400, 180}, {37248420, 120}, {37470240, 180}, {37681860, 120},
    {37742400, 180}, {37772580, 120}, {37994400, 180}, {38195940, 120}, {38256480, 180},
    {38296740, 120}, {38518560, 180}, {38699940, 120}, {38770560, 180}, {38820900, 120},
    {39042720, 180}, {39214020, 120}, {39274560, 180}, {39355140, 120}, {39566880, 180},
    {39728100, 120}, {39788640, 180}, {39879300, 120}, {40091040, 180}, {40232100, 120},
    {40302720, 180}, {40403460, 120}, {40625280, 180}, {40746180, 120}, {40806720, 180},
    {40927620, 120}, {41149440, 180}, {41250180, 120}, {41320800, 180}, {41451780, 120},
    {41673600, 180}, {41764260, 120}, {41824800, 180}, {41986020, 120}, {42197760, 180},
    {42278340, 120}, {42338880, 180}, {42510180, 120}, {42721920, 180}, {42782340, 120},
    {42852960, 180}, {43034340, 120}, {43256160, 180}, {43296420, 120}, {43356960, 180},
    {43558500, 120}, {43780320, 180}, {43800420, 120}, {43871040, 180}, {44082660, 120},
    {44304480, 180}, {44314500, 120}, {44385120, 180}, {44606820, 120}, {44889120, 180},
    {45141060, 120}, {45403200, 180}, {45665220, 120}, {45907200, 180}, {46189380, 120},
    {46421280, 180}, {46713540, 120}, {46935360, 180}, {47237700, 120}, {47459520, 180},
    {47771940, 120}, {47983680, 180}, {48296100, 120}, {48507840, 180}, {48820260, 120},
    {49032000, 180}, {49344420, 120}, {49566240, 180}, {49868580, 120}, {50090400, 180},
    {50392740, 120}, {50614560, 180}, {50926980, 120}, {51138720, 180}, {51451140, 120},
    {51662880, 180}, {51965220, 120}, {52197120, 180}, {52479300, 120}, {52721280, 180},
    {52993380, 120}, {53245440, 180}, {53497380, 120}, {53769600, 180}, {54011460, 120},
    {54072000, 180}, {54082020, 120}, {54293760, 180}, {54525540, 120}, {54586080, 180},
    {54606180, 120}, {54817920, 180}, {55029540, 120}, {55100160, 180}, {55130340, 120},
    {55352160, 180}, {55543620, 120}, {55604160, 180}, {55654500, 120}, {55876320, 180},
    {56047620, 120}, {56118240, 180}, {56178660, 120}, {56400480, 180}, {56561700, 120},
    {56632320, 180}, {56712900, 120}, {56924640, 180}, {57075780, 120}, {57136320, 180},
    {57237060, 120}, {57448800, 180}, {57579780, 120}, {57650400, 180}, {57761220, 120},
    {57983040, 180}, {58093860, 120}, {58154400, 180}, {58285380, 120}, {58507200, 180},
    {58607940, 120}, {58668480, 180}, {58809540, 120}, {59031360, 180}, {59111940, 120},
    {59182560, 180}, {59333700, 120}, {59555520, 180}, {59626020, 120}, {59686560, 180},
    {59867940, 120}, {60079680, 180}, {60130020, 120}, {60200640, 180}, {60392100, 120},
    {60603840, 180}, {60644100, 120}, {60714720, 180}, {60916260, 120}, {61138080, 180},
    {61158180, 120}, {61218720, 180},
};

constexpr ZoneRow kRows[] = {
    // GMT0
    {"Africa/Abidjan Africa/Accra Africa/Bamako Africa/Banjul Africa/Bissau Africa/Conakry "
     "Africa/Dakar Africa/Freetown Africa/Lome Africa/Monrovia Africa/Nouakchott "
     "Africa/Ouagadougou Africa/Sao_Tome Africa/Timbuktu America/Danmarkshavn Atlantic/Reykjavik "
     "Atlantic/St_Helena Etc/GMT Etc/GMT+0 Etc/GMT-0 Etc/GMT0 Etc/Greenwich GMT GMT+0 GMT-0 GMT0 "
     "Greenwich Iceland",
     0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // EAT-3
    {"Africa/Addis_Ababa Africa/Asmara Africa/Asmera Africa/Dar_es_Salaam Africa/Djibouti "
     "Africa/Kampala Africa/Mogadishu Africa/Nairobi Indian/Antananarivo Indian/Comoro "
     "Indian/Mayotte",
     180, 180, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // CET-1
    {"Africa/Algiers Africa/Tunis",
     60, 60, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // WAT-1
    {"Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa Africa/Lagos "
     "Africa/Libreville Africa/Luanda Africa/Malabo Africa/Ndjamena Africa/Niamey "
     "Africa/Porto-Novo",
     60, 60, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // CAT-2
    {"Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Juba Africa/Khartoum "
     "Africa/Kigali Africa/Lubumbashi Africa/Lusaka Africa/Maputo Africa/Windhoek",
     120, 120, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // EET-2EEST,M4.5.5/0,M10.5.4/24
    {"Africa/Cairo Egypt",
     120, 180, {4, 5, 5, 0}, {10, 5, 4, 1440}, {}},
    // <+00>0
    {"Africa/Casablanca Africa/El_Aaiun",
     0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}, kChanges1},
    // CET-1CEST,M3.5.0,M10.5.0/3
    {"Africa/Ceuta Arctic/Longyearbyen Atlantic/Jan_Mayen CET Europe/Amsterdam Europe/Andorra "
     "Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels Europe/Budapest "
     "Europe/Busingen Europe/Copenhagen Europe/Gibraltar Europe/Ljubljana Europe/Luxembourg "
     "Europe/Madrid Europe/Malta Europe/Monaco Europe/Oslo Europe/Paris Europe/Podgorica "
     "Europe/Prague Europe/Rome Europe/San_Marino Europe/Sarajevo Europe/Skopje Europe/Stockholm "
     "Europe/Tirane Europe/Vaduz Europe/Vatican Europe/Vienna Europe/Warsaw Europe/Zagreb "
     "Europe/Zurich Poland",
     60, 120, {3, 5, 0, 120}, {10, 5, 0, 180}, {}},
    // SAST-2
    {"Africa/Johannesburg Africa/Maseru Africa/Mbabane",
     120, 120, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // EET-2
    {"Africa/Tripoli Europe/Kaliningrad Libya",
     120, 120, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // HST10HDT,M3.2.0,M11.1.0
    {"America/Adak America/Atka US/Aleutian",
     -600, -540, {3, 2, 0, 120}, {11, 1, 0, 120}, {}},
    // AKST9AKDT,M3.2.0,M11.1.0
    {"America/Anchorage America/Juneau America/Metlakatla America/Nome America/Sitka "
     "America/Yakutat US/Alaska",
     -540, -480, {3, 2, 0, 120}, {11, 1, 0, 120}, {}},
    // AST4
    {"America/Anguilla America/Antigua America/Aruba America/Barbados America/Blanc-Sablon "
     "America/Curacao America/Dominica America/Grenada America/Guadeloupe America/Kralendijk "
     "America/Lower_Princes America/Marigot America/Martinique America/Montserrat "
     "America/Port_of_Spain America/Puerto_Rico America/Santo_Domingo America/St_Barthelemy "
     "America/St_Kitts America/St_Lucia America/St_Thomas America/St_Vincent America/Tortola "
     "America/Virgin",
     -240, -240, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-03>3
    {"America/Araguaina America/Argentina/Buenos_Aires America/Argentina/Catamarca "
     "America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy "
     "America/Argentina/La_Rioja America/Argentina/Mendoza America/Argentina/Rio_Gallegos "
     "America/Argentina/Salta America/Argentina/San_Juan America/Argentina/San_Luis "
     "America/Argentina/Tucuman America/Argentina/Ushuaia America/Asuncion America/Bahia "
     "America/Belem America/Buenos_Aires America/Catamarca America/Cayenne America/Cordoba "
     "America/Coyhaique America/Fortaleza America/Jujuy America/Maceio America/Mendoza "
     "America/Montevideo America/Paramaribo America/Punta_Arenas America/Recife America/Rosario "
     "America/Santarem America/Sao_Paulo Antarctica/Palmer Antarctica/Rothera Atlantic/Stanley "
     "Brazil/East Etc/GMT+3",
     -180, -180, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // EST5
    {"America/Atikokan America/Cancun America/Cayman America/Coral_Harbour America/Jamaica "
     "America/Panama EST Jamaica",
     -300, -300, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // CST6
    {"America/Bahia_Banderas America/Belize America/Chihuahua America/Costa_Rica "
     "America/El_Salvador America/Guatemala America/Managua America/Merida America/Mexico_City "
     "America/Monterrey America/Regina America/Swift_Current America/Tegucigalpa "
     "Canada/Saskatchewan Mexico/General",
     -360, -360, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-04>4
    {"America/Boa_Vista America/Campo_Grande America/Caracas America/Cuiaba America/Guyana "
     "America/La_Paz America/Manaus America/Porto_Velho Brazil/West Etc/GMT+4",
     -240, -240, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-05>5
    {"America/Bogota America/Eirunepe America/Guayaquil America/Lima America/Porto_Acre "
     "America/Rio_Branco Brazil/Acre Etc/GMT+5",
     -300, -300, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // MST7MDT,M3.2.0,M11.1.0
    {"America/Boise America/Cambridge_Bay America/Ciudad_Juarez America/Denver America/Shiprock "
     "MST7MDT Navajo US/Mountain",
     -420, -360, {3, 2, 0, 120}, {11, 1, 0, 120}, {}},
    // CST6CDT,M3.2.0,M11.1.0
    {"America/Chicago America/Indiana/Knox America/Indiana/Tell_City America/Knox_IN "
     "America/Matamoros America/Menominee America/North_Dakota/Beulah "
     "America/North_Dakota/Center America/North_Dakota/New_Salem America/Ojinaga "
     "America/Rankin_Inlet America/Resolute CST6CDT US/Central US/Indiana-Starke",
     -360, -300, {3, 2, 0, 120}, {11, 1, 0, 120}, {}},
    // MST7
    {"America/Creston America/Dawson America/Dawson_Creek America/Fort_Nelson America/Hermosillo "
     "America/Mazatlan America/Phoenix America/Whitehorse Canada/Yukon MST Mexico/BajaSur "
     "US/Arizona",
     -420, -420, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // EST5EDT,M3.2.0,M11.1.0
    {"America/Detroit America/Fort_Wayne America/Grand_Turk America/Indiana/Indianapolis "
     "America/Indiana/Marengo America/Indiana/Petersburg America/Indiana/Vevay "
     "America/Indiana/Vincennes America/Indiana/Winamac America/Indianapolis America/Iqaluit "
     "America/Kentucky/Louisville America/Kentucky/Monticello America/Louisville "
     "America/Montreal America/Nassau America/New_York America/Nipigon America/Pangnirtung "
     "America/Port-au-Prince America/Thunder_Bay America/Toronto Canada/Eastern EST5EDT "
     "US/East-Indiana US/Eastern US/Michigan",
     -300, -240, {3, 2, 0, 120}, {11, 1, 0, 120}, {}},
    // CST6
    {"America/Edmonton America/Inuvik America/Yellowknife Canada/Mountain",
     -360, -360, {0, 0, 0, 0}, {0, 0, 0, 0}, kChanges2},
    // PST8PDT,M3.2.0,M11.1.0
    {"America/Ensenada America/Los_Angeles America/Santa_Isabel America/Tijuana Mexico/BajaNorte "
     "PST8PDT US/Pacific",
     -480, -420, {3, 2, 0, 120}, {11, 1, 0, 120}, {}},
    // AST4ADT,M3.2.0,M11.1.0
    {"America/Glace_Bay America/Goose_Bay America/Halifax America/Moncton America/Thule "
     "Atlantic/Bermuda Canada/Atlantic",
     -240, -180, {3, 2, 0, 120}, {11, 1, 0, 120}, {}},
    // <-02>2<-01>,M3.5.0/-1,M10.5.0/0
    {"America/Godthab America/Nuuk America/Scoresbysund",
     -120, -60, {3, 5, 0, -60}, {10, 5, 0, 0}, {}},
    // CST5CDT,M3.2.0/0,M11.1.0/1
    {"America/Havana Cuba",
     -300, -240, {3, 2, 0, 0}, {11, 1, 0, 60}, kChanges3},
    // <-03>3<-02>,M3.2.0,M11.1.0
    {"America/Miquelon",
     -180, -120, {3, 2, 0, 120}, {11, 1, 0, 120}, {}},
    // <-02>2
    {"America/Noronha Atlantic/South_Georgia Brazil/DeNoronha Etc/GMT+2",
     -120, -120, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // EST5
    {"America/Rainy_River America/Winnipeg Canada/Central",
     -300, -300, {0, 0, 0, 0}, {0, 0, 0, 0}, kChanges4},
    // <-04>4<-03>,M9.1.6/24,M4.1.6/24
    {"America/Santiago Chile/Continental",
     -240, -180, {9, 1, 6, 1440}, {4, 1, 6, 1440}, {}},
    // NST3:30NDT,M3.2.0,M11.1.0
    {"America/St_Johns Canada/Newfoundland",
     -210, -150, {3, 2, 0, 120}, {11, 1, 0, 120}, {}},
    // MST7
    {"America/Vancouver Canada/Pacific",
     -420, -420, {0, 0, 0, 0}, {0, 0, 0, 0}, kChanges5},
    // <+08>-8
    {"Antarctica/Casey Asia/Brunei Asia/Choibalsan Asia/Irkutsk Asia/Kuala_Lumpur Asia/Kuching "
     "Asia/Singapore Asia/Ulaanbaatar Asia/Ulan_Bator Etc/GMT-8 Singapore",
     480, 480, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+07>-7
    {"Antarctica/Davis Asia/Bangkok Asia/Barnaul Asia/Ho_Chi_Minh Asia/Hovd Asia/Krasnoyarsk "
     "Asia/Novokuznetsk Asia/Novosibirsk Asia/Phnom_Penh Asia/Saigon Asia/Tomsk Asia/Vientiane "
     "Etc/GMT-7 Indian/Christmas",
     420, 420, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+10>-10
    {"Antarctica/DumontDUrville Asia/Ust-Nera Asia/Vladivostok Etc/GMT-10 Pacific/Chuuk "
     "Pacific/Port_Moresby Pacific/Truk Pacific/Yap",
     600, 600, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // AEST-10AEDT,M10.1.0,M4.1.0/3
    {"Antarctica/Macquarie Australia/ACT Australia/Canberra Australia/Currie Australia/Hobart "
     "Australia/Melbourne Australia/NSW Australia/Sydney Australia/Tasmania Australia/Victoria",
     600, 660, {10, 1, 0, 120}, {4, 1, 0, 180}, {}},
    // <+05>-5
    {"Antarctica/Mawson Antarctica/Vostok Asia/Almaty Asia/Aqtau Asia/Aqtobe Asia/Ashgabat "
     "Asia/Ashkhabad Asia/Atyrau Asia/Dushanbe Asia/Oral Asia/Qostanay Asia/Qyzylorda "
     "Asia/Samarkand Asia/Tashkent Asia/Yekaterinburg Etc/GMT-5 Indian/Kerguelen Indian/Maldives",
     300, 300, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // NZST-12NZDT,M9.5.0,M4.1.0/3
    {"Antarctica/McMurdo Antarctica/South_Pole NZ Pacific/Auckland",
     720, 780, {9, 5, 0, 120}, {4, 1, 0, 180}, {}},
    // <+03>-3
    {"Antarctica/Syowa Asia/Aden Asia/Amman Asia/Baghdad Asia/Bahrain Asia/Damascus "
     "Asia/Istanbul Asia/Kuwait Asia/Qatar Asia/Riyadh Etc/GMT-3 Europe/Istanbul Europe/Minsk "
     "Turkey",
     180, 180, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+00>0<+02>-2,M3.5.0/1,M10.5.0/3
    {"Antarctica/Troll",
     0, 120, {3, 5, 0, 60}, {10, 5, 0, 180}, {}},
    // <+12>-12
    {"Asia/Anadyr Asia/Kamchatka Etc/GMT-12 Kwajalein Pacific/Fiji Pacific/Funafuti "
     "Pacific/Kwajalein Pacific/Majuro Pacific/Nauru Pacific/Tarawa Pacific/Wake Pacific/Wallis",
     720, 720, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+04>-4
    {"Asia/Baku Asia/Dubai Asia/Muscat Asia/Tbilisi Asia/Yerevan Etc/GMT-4 Europe/Astrakhan "
     "Europe/Samara Europe/Saratov Europe/Ulyanovsk Indian/Mahe Indian/Mauritius Indian/Reunion",
     240, 240, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // EET-2EEST,M3.5.0/0,M10.5.0/0
    {"Asia/Beirut",
     120, 180, {3, 5, 0, 0}, {10, 5, 0, 0}, {}},
    // <+06>-6
    {"Asia/Bishkek Asia/Dacca Asia/Dhaka Asia/Kashgar Asia/Omsk Asia/Thimbu Asia/Thimphu "
     "Asia/Urumqi Etc/GMT-6 Indian/Chagos",
     360, 360, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // IST-5:30
    {"Asia/Calcutta Asia/Kolkata",
     330, 330, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+09>-9
    {"Asia/Chita Asia/Dili Asia/Khandyga Asia/Yakutsk Etc/GMT-9 Pacific/Palau",
     540, 540, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // CST-8
    {"Asia/Chongqing Asia/Chungking Asia/Harbin Asia/Macao Asia/Macau Asia/Shanghai Asia/Taipei "
     "PRC ROC",
     480, 480, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+0530>-5:30
    {"Asia/Colombo",
     330, 330, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // EET-2EEST,M3.5.0/3,M10.5.0/4
    {"Asia/Famagusta Asia/Nicosia EET Europe/Athens Europe/Bucharest Europe/Chisinau "
     "Europe/Helsinki Europe/Kiev Europe/Kyiv Europe/Mariehamn Europe/Nicosia Europe/Riga "
     "Europe/Sofia Europe/Tallinn Europe/Tiraspol Europe/Uzhgorod Europe/Vilnius "
     "Europe/Zaporozhye",
     120, 180, {3, 5, 0, 180}, {10, 5, 0, 240}, {}},
    // EET-2EEST,M3.4.4/50,M10.4.4/50
    {"Asia/Gaza Asia/Hebron",
     120, 180, {3, 4, 4, 3000}, {10, 4, 4, 3000}, kChanges6},
    // HKT-8
    {"Asia/Hong_Kong Hongkong",
     480, 480, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // WIB-7
    {"Asia/Jakarta Asia/Pontianak",
     420, 420, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // WIT-9
    {"Asia/Jayapura",
     540, 540, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // IST-2IDT,M3.4.4/26,M10.5.0
    {"Asia/Jerusalem Asia/Tel_Aviv Israel",
     120, 180, {3, 4, 4, 1560}, {10, 5, 0, 120}, {}},
    // <+0430>-4:30
    {"Asia/Kabul",
     270, 270, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // PKT-5
    {"Asia/Karachi",
     300, 300, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+0545>-5:45
    {"Asia/Kathmandu Asia/Katmandu",
     345, 345, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+11>-11
    {"Asia/Magadan Asia/Sakhalin Asia/Srednekolymsk Etc/GMT-11 Pacific/Bougainville "
     "Pacific/Efate Pacific/Guadalcanal Pacific/Kosrae Pacific/Noumea Pacific/Pohnpei "
     "Pacific/Ponape",
     660, 660, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // WITA-8
    {"Asia/Makassar Asia/Ujung_Pandang",
     480, 480, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // PST-8
    {"Asia/Manila",
     480, 480, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // KST-9
    {"Asia/Pyongyang Asia/Seoul ROK",
     540, 540, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+0630>-6:30
    {"Asia/Rangoon Asia/Yangon Indian/Cocos",
     390, 390, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+0330>-3:30
    {"Asia/Tehran Iran",
     210, 210, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // JST-9
    {"Asia/Tokyo Japan",
     540, 540, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-01>1<+00>,M3.5.0/0,M10.5.0/1
    {"Atlantic/Azores",
     -60, 0, {3, 5, 0, 0}, {10, 5, 0, 60}, {}},
    // WET0WEST,M3.5.0/1,M10.5.0
    {"Atlantic/Canary Atlantic/Faeroe Atlantic/Faroe Atlantic/Madeira Europe/Lisbon Portugal WET",
     0, 60, {3, 5, 0, 60}, {10, 5, 0, 120}, {}},
    // <-01>1
    {"Atlantic/Cape_Verde Etc/GMT+1",
     -60, -60, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // ACST-9:30ACDT,M10.1.0,M4.1.0/3
    {"Australia/Adelaide Australia/Broken_Hill Australia/South Australia/Yancowinna",
     570, 630, {10, 1, 0, 120}, {4, 1, 0, 180}, {}},
    // AEST-10
    {"Australia/Brisbane Australia/Lindeman Australia/Queensland",
     600, 600, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // ACST-9:30
    {"Australia/Darwin Australia/North",
     570, 570, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+0845>-8:45
    {"Australia/Eucla",
     525, 525, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+1030>-10:30<+11>-11,M10.1.0,M4.1.0
    {"Australia/LHI Australia/Lord_Howe",
     630, 660, {10, 1, 0, 120}, {4, 1, 0, 120}, {}},
    // AWST-8
    {"Australia/Perth Australia/West",
     480, 480, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-06>6<-05>,M9.1.6/22,M4.1.6/22
    {"Chile/EasterIsland Pacific/Easter",
     -360, -300, {9, 1, 6, 1320}, {4, 1, 6, 1320}, {}},
    // IST-1GMT0,M10.5.0,M3.5.0/1
    {"Eire Europe/Dublin",
     60, 0, {10, 5, 0, 120}, {3, 5, 0, 60}, {}},
    // <-10>10
    {"Etc/GMT+10 Pacific/Rarotonga Pacific/Tahiti",
     -600, -600, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-11>11
    {"Etc/GMT+11 Pacific/Niue",
     -660, -660, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-12>12
    {"Etc/GMT+12",
     -720, -720, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-06>6
    {"Etc/GMT+6 Pacific/Galapagos",
     -360, -360, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-07>7
    {"Etc/GMT+7",
     -420, -420, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-08>8
    {"Etc/GMT+8 Pacific/Pitcairn",
     -480, -480, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-09>9
    {"Etc/GMT+9 Pacific/Gambier",
     -540, -540, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+01>-1
    {"Etc/GMT-1",
     60, 60, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+13>-13
    {"Etc/GMT-13 Pacific/Apia Pacific/Enderbury Pacific/Fakaofo Pacific/Kanton Pacific/Tongatapu",
     780, 780, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+14>-14
    {"Etc/GMT-14 Pacific/Kiritimati",
     840, 840, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+02>-2
    {"Etc/GMT-2",
     120, 120, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // UTC0
    {"Etc/UCT Etc/UTC Etc/Universal Etc/Zulu UCT UTC Universal Zulu",
     0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // GMT0BST,M3.5.0/1,M10.5.0
    {"Europe/Belfast Europe/Guernsey Europe/Isle_of_Man Europe/Jersey Europe/London GB GB-Eire",
     0, 60, {3, 5, 0, 60}, {10, 5, 0, 120}, {}},
    // MSK-3
    {"Europe/Kirov Europe/Moscow Europe/Simferopol Europe/Volgograd W-SU",
     180, 180, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // HST10
    {"HST Pacific/Honolulu Pacific/Johnston US/Hawaii",
     -600, -600, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // MET-1MEST,M3.5.0,M10.5.0/3
    {"MET",
     60, 120, {3, 5, 0, 120}, {10, 5, 0, 180}, {}},
    // <+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45
    {"NZ-CHAT Pacific/Chatham",
     765, 825, {9, 5, 0, 165}, {4, 1, 0, 225}, {}},
    // ChST-10
    {"Pacific/Guam Pacific/Saipan",
     600, 600, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <-0930>9:30
    {"Pacific/Marquesas",
     -570, -570, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // SST11
    {"Pacific/Midway Pacific/Pago_Pago Pacific/Samoa US/Samoa",
     -660, -660, {0, 0, 0, 0}, {0, 0, 0, 0}, {}},
    // <+11>-11<+12>,M10.1.0,M4.1.0/3
    {"Pacific/Norfolk",
     660, 720, {10, 1, 0, 120}, {4, 1, 0, 180}, {}},
};

}  // namespace

std::span<const ZoneRow> zone_rows() { return kRows; }

std::string_view zone_version() { return "2026f"; }

}  // namespace etcdop::schedule
